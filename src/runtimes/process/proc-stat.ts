/** Parses `/proc/<pid>/stat`, the kernel's line about one process. */

export interface ProcStat {
  /** One letter; `Z` and `X` are dead. */
  readonly state: string;
  readonly processGroup: number;
  readonly session: number;
  /** CPU time of the process and its reaped children, in clock ticks. */
  readonly cpuTicks: number;
  /** In clock ticks since boot. */
  readonly startTime: string;
}

/** Undefined when the text is not such a line. */
export function parseProcStat(text: string): ProcStat | undefined {
  // The command name is in parentheses and may itself contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const startTime = fields[19];
  if (startTime === undefined) return undefined;
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return {
    state: fields[0] ?? '',
    processGroup: Number(fields[2]),
    session: Number(fields[3]),
    cpuTicks: ticks,
    startTime,
  };
}

export function isDeadState(state: string): boolean {
  return state.startsWith('Z') || state.startsWith('X');
}
