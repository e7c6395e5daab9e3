/** CPU lists as Linux writes them: `0-3,8`. */

/** No machine has more CPUs. A larger range is a typing mistake and must not fill the memory. */
const highestCpu = 1 << 16;

/** Returns the CPUs in ascending order. Throws an error with the reason when the text is not a CPU list. */
export function parseCpuSet(text: string): number[] {
  if (text === '') return [];
  const cpus = new Set<number>();
  for (const part of text.split(',')) {
    const range = /^(\d+)(?:-(\d+))?$/.exec(part);
    if (range === null) throw new Error(`"${part}" is neither a CPU number nor a range such as 0-3`);
    const first = Number(range[1]);
    const last = range[2] === undefined ? first : Number(range[2]);
    if (first > last) throw new Error(`invalid range "${part}" (${first} > ${last})`);
    if (last > highestCpu) throw new Error(`CPU ${last} is beyond any machine`);
    for (let cpu = first; cpu <= last; cpu++) cpus.add(cpu);
  }
  return [...cpus].sort((a, b) => a - b);
}

/** `cpus` in ascending order. */
export function formatCpuSet(cpus: readonly number[]): string {
  const ranges: { first: number; last: number }[] = [];
  for (const cpu of cpus) {
    const range = ranges.at(-1);
    if (range !== undefined && cpu === range.last + 1) range.last = cpu;
    else ranges.push({ first: cpu, last: cpu });
  }
  return ranges.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(',');
}
