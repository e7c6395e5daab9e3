/**
 * Keeps Node's inspector shut. SIGUSR1 opens it in every Node process that has no handler of its own, on a port of
 * loopback that asks for no password: any user of the machine could then run code as the agent.
 */

/** What asks for the inspector on the command line, or in NODE_OPTIONS: `--inspect`, `--inspect-brk=0` and the like. */
export function asksForInspector(execArgv: readonly string[], nodeOptions = ''): boolean {
  const words = [...execArgv, ...nodeOptions.split(/\s+/)];
  return words.some((word) => /^--inspect(-brk|-wait)?(=|$)/.test(word));
}

/** To be called first thing. Whoever asked for the inspector when they started Node keeps it. */
export async function keepInspectorShut(): Promise<void> {
  process.on('SIGUSR1', () => {});
  if (asksForInspector(process.execArgv, process.env.NODE_OPTIONS)) return;
  // A signal that came before the handler opens the inspector as soon as the event loop turns.
  await new Promise((resolve) => setImmediate(resolve));
  const inspector = await import('node:inspector').catch(() => undefined);
  if (inspector?.url() === undefined) return;
  inspector.close();
  process.stderr.write('nodelet: SIGUSR1 had opened the inspector of Node; it is closed again\n');
}
