/** Lines of a container's log for people: whatever the container printed, nothing in them acts on a screen. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it removes
const escapes = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
/** Control characters, and those that turn the direction of what follows. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it replaces
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Colours and moves of the cursor go; other control characters are shown as one that is none. */
export function cleanLogLine(line: string): string {
  return line.replace(/\r$/, '').replace(escapes, '').replaceAll('\t', '    ').replace(controls, '\ufffd');
}

/** How much of a log stands beside the exit of its container. */
export const shownOfLog = { lines: 5, lineChars: 300, bytes: 16 * 1024 } as const;

/** The last lines of a log, each cut to what a screen shows. */
export function lastLogLines(text: string): string[] {
  const lines = text.replace(/\n$/, '').split('\n');
  const last = lines.length === 1 && lines[0] === '' ? [] : lines.slice(-shownOfLog.lines);
  return last.map((line) => {
    const clean = cleanLogLine(line.slice(0, shownOfLog.lineChars * 4));
    return clean.length > shownOfLog.lineChars ? `${clean.slice(0, shownOfLog.lineChars)}…` : clean;
  });
}

/** What to ask the kubelet API for: `previous` where the container runs again. */
export function lastLinesQuery(previous: boolean): string {
  const tail = `tailLines=${shownOfLog.lines}&limitBytes=${shownOfLog.bytes}`;
  return previous ? `${tail}&previous=true` : tail;
}

interface EndedContainer {
  readonly name: string;
  readonly state?: {
    readonly running?: object | undefined;
    readonly terminated?: { readonly exitCode: number } | undefined;
  };
  readonly lastState?: { readonly terminated?: { readonly exitCode: number } | undefined };
}

export interface LastExit {
  readonly container: string;
  readonly exitCode: number;
  /** It runs again: its log is that of the instance before. */
  readonly previous: boolean;
}

/** The last exit of each container that had one; one that did its work is left out while the container runs again. */
export function lastExits(statuses: readonly EndedContainer[]): LastExit[] {
  return statuses.flatMap(({ name, state, lastState }): LastExit[] => {
    const ended = state?.terminated ?? lastState?.terminated;
    if (ended === undefined) return [];
    const previous = state?.running !== undefined;
    if (previous && ended.exitCode === 0) return [];
    return [{ container: name, exitCode: ended.exitCode, previous }];
  });
}
