/** The packet rules of a pod network: the masquerade rule, and the removal of all its rules. */

export interface MasqueradedNetwork {
  readonly networkName: string;
  readonly subnet: string;
}

/**
 * The commands that masquerade all pods of a network, replacing earlier such commands. One rule for the
 * network does what the bridge plugin would otherwise do with a chain for each pod, in nine programs.
 */
export function masqueradeCommands(
  rules: readonly string[],
  { networkName, subnet }: MasqueradedNetwork,
): string[] {
  const comment = `"pods of \\"${networkName}\\""`;
  const earlier = rules.filter(
    (rule) => rule.startsWith('-A POSTROUTING ') && rule.includes(` --comment ${comment} `),
  );
  const added = `-s ${subnet} ! -d ${subnet} -m addrtype ! --dst-type MULTICAST`;
  return [...earlier.map(deletion), `-A POSTROUTING ${added} -m comment --comment ${comment} -j MASQUERADE`];
}

/**
 * The commands that delete the rules made for a pod network, by CNI plugins or here, and the chains that only
 * they jumped to.
 */
export function natRulesToRemove(rules: readonly string[], networkName: string): string[] {
  const ours = rules.filter((rule) => rule.startsWith('-A ') && rule.includes(`\\"${networkName}\\"`));
  const chains = new Set<string>();
  for (const rule of ours) {
    const target = / -j (CNI-[0-9a-f]{24}|CNI-DN-[0-9a-f]+)$/.exec(rule)?.[1];
    if (target !== undefined) {
      chains.add(target);
    }
  }
  const inChains = (rule: string) => chains.has(rule.split(' ')[1] ?? '');
  return [
    ...ours.filter((rule) => !inChains(rule)).map(deletion),
    ...[...chains].flatMap((chain) => [`-F ${chain}`, `-X ${chain}`]),
  ];
}

/** The commands that delete the host-port chains, if no pod of the machine has a host port. */
export function unusedHostPortChains(rules: readonly string[]): string[] {
  const chains = ['CNI-HOSTPORT-DNAT', 'CNI-HOSTPORT-SETMARK', 'CNI-HOSTPORT-MASQ'].filter((chain) =>
    rules.some((rule) => rule.startsWith(`:${chain} `)),
  );
  if (rules.some((rule) => rule.startsWith('-A CNI-HOSTPORT-DNAT '))) {
    return [];
  }
  const jumps = rules.filter((rule) => chains.some((chain) => rule.endsWith(`-j ${chain}`)));
  return [
    ...jumps.map(deletion),
    ...chains.map((chain) => `-F ${chain}`),
    ...chains.map((chain) => `-X ${chain}`),
  ];
}

function deletion(rule: string): string {
  return rule.replace(/^-A /, '-D ');
}
