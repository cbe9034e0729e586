"""The untrusted side: runs a submission under the isolation layers."""
