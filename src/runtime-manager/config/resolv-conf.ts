/** Parses the node's resolver file, and reports when it is too large for pods. */

export interface ResolvConf {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  /** Unique, as `name` or `name:value`. */
  readonly options: readonly string[];
}

export const emptyResolvConf: ResolvConf = { servers: [], searches: [], options: [] };

export const dnsLimits = {
  nameservers: 3,
  searches: 32,
  searchLineChars: 2048,
  searchChars: 253,
} as const;

/** The cluster's three search domains come before the node's. */
const clusterSearches = 3;

/** All name servers count, but only the last search line and the last option of a name. */
export function parseResolvConf(text: string): ResolvConf {
  const servers: string[] = [];
  let searches: string[] = [];
  const options = new Map<string, string>();
  let line = 0;
  for (const raw of text.split('\n')) {
    line += 1;
    const trimmed = raw.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    const [keyword, ...values] = trimmed.split(/\s+/);
    if (keyword === 'nameserver') {
      const [server] = values;
      if (server === undefined) throw new Error(`line ${line}: nameserver without an address`);
      servers.push(server);
    } else if (keyword === 'search') {
      searches = values.filter((value) => value !== '.').map((value) => value.replace(/\.$/, ''));
    } else if (keyword === 'options') {
      for (const option of values) options.set(optionName(option), option);
    }
  }
  return { servers, searches, options: [...options.values()] };
}

/** `ndots` of `ndots:5`. */
export function optionName(option: string): string {
  const colon = option.indexOf(':');
  return colon < 0 ? option : option.slice(0, colon);
}

/** What is wrong with the node's file for pods, if anything; reported once, when the agent starts. */
export function resolvConfLimitProblem(
  path: string,
  { searches }: ResolvConf,
  clusterDomain: string,
): string | undefined {
  const limit = clusterDomain === '' ? dnsLimits.searches : dnsLimits.searches - clusterSearches;
  if (searches.length > limit) {
    return `Resolv.conf file '${path}' contains search line consisting of more than ${limit} domains!`;
  }
  if (searches.some((search) => search.length > dnsLimits.searchChars)) {
    return `Resolv.conf file "${path}" contains a search path which length is more than allowed ${dnsLimits.searchChars} chars!`;
  }
  if (searches.join(' ').length > dnsLimits.searchLineChars) {
    return `Resolv.conf file '${path}' contains search line which length is more than allowed ${dnsLimits.searchLineChars} chars!`;
  }
  return undefined;
}
