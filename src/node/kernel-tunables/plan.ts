/** Decides which settings of the kernel a node needs, and which of them differ. */

/** Names are paths below `/proc/sys`. */
export interface KernelTunable {
  readonly name: string;
  readonly value: number;
}

export interface TunableChange {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

/** The values with which pods are accounted for and a broken kernel restarts the machine. */
export const kernelTunables: readonly KernelTunable[] = [
  { name: 'vm/overcommit_memory', value: 1 },
  { name: 'vm/panic_on_oom', value: 0 },
  { name: 'kernel/panic', value: 10 },
  { name: 'kernel/panic_on_oops', value: 1 },
  { name: 'kernel/keys/root_maxkeys', value: 1_000_000 },
  { name: 'kernel/keys/root_maxbytes', value: 25_000_000 },
];

export function tunableChanges(actual: ReadonlyMap<string, number>): readonly TunableChange[] {
  return kernelTunables.flatMap(({ name, value }) => {
    const from = actual.get(name);
    return from === undefined || from === value ? [] : [{ name, from, to: value }];
  });
}

/** Why a node that must not change the kernel cannot start; undefined if nothing differs. */
export function tunableProblem(changes: readonly TunableChange[]): string | undefined {
  const texts = changes.map(
    ({ name, from, to }) => `invalid kernel flag: ${name}, expected value: ${to}, actual value: ${from}`,
  );
  return texts.length <= 1 ? texts[0] : `[${texts.join(', ')}]`;
}
