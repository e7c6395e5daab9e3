/** Tells the addresses of servers, of any kind, from files and directories on the command line. */
export function isAddress(input: string): boolean {
  return /^[a-z]+:\/\//i.test(input);
}
