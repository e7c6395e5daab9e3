/** Finds the packet rules that CNI plugins made for one pod network, so that they go with it. */

/** The commands that delete the rules made for a CNI network, and the chains that only they jumped to. */
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
    ...ours.filter((rule) => !inChains(rule)).map((rule) => rule.replace(/^-A /, '-D ')),
    ...[...chains].flatMap((chain) => [`-F ${chain}`, `-X ${chain}`]),
  ];
}

/** The commands that delete the chains for host ports, if no pod of the machine has a host port. */
export function unusedHostPortChains(rules: readonly string[]): string[] {
  const chains = ['CNI-HOSTPORT-DNAT', 'CNI-HOSTPORT-SETMARK', 'CNI-HOSTPORT-MASQ'].filter((chain) =>
    rules.some((rule) => rule.startsWith(`:${chain} `)),
  );
  if (rules.some((rule) => rule.startsWith('-A CNI-HOSTPORT-DNAT '))) {
    return [];
  }
  const jumps = rules.filter((rule) => chains.some((chain) => rule.endsWith(`-j ${chain}`)));
  return [
    ...jumps.map((rule) => rule.replace(/^-A /, '-D ')),
    ...chains.map((chain) => `-F ${chain}`),
    ...chains.map((chain) => `-X ${chain}`),
  ];
}
