/**
 * Keeps Node's inspector closed. SIGUSR1 opens it in every Node process without a handler for that signal, on a loopback
 * port without a password: any user of the machine could then run code as the agent.
 */

/** True when the command line or NODE_OPTIONS opens the inspector: `--inspect`, `--inspect-brk=0` and so on. */
export function wantsInspector(execArgv: readonly string[], nodeOptions = ''): boolean {
  const words = [...execArgv, ...nodeOptions.split(/\s+/)];
  return words.some((word) => /^--inspect(-brk|-wait)?(=|$)/.test(word));
}

/** Call this first. An inspector that the user asked for stays open. */
export async function keepInspectorClosed(): Promise<void> {
  process.on('SIGUSR1', () => {});
  if (wantsInspector(process.execArgv, process.env.NODE_OPTIONS)) return;
  // A signal that arrived before the handler opens the inspector in the next turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  const inspector = await import('node:inspector').catch(() => undefined);
  if (inspector?.url() === undefined) return;
  inspector.close();
  process.stderr.write('nodelet: SIGUSR1 had opened the inspector of Node; closed it\n');
}
