"""What hpsim costs on this machine, each figure measured beside the limit that it is compared with."""
