// A program that a test inspects and then runs.
#include <stdio.h>

int main(void) {
  puts("here");
  return 0;
}
