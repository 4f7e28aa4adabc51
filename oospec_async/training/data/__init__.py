"""What is trained on: public sets and written messages to requests, requests and calls to training rows."""
