"""Language models as models: each prompt on each network is one."""
