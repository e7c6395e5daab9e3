/** Writes log lines in one go per turn of the event loop: a burst of pods makes many lines at once. */

/** What is still held when the process ends is written then. */
export function batchedWriter(write: (text: string) => void): (line: string) => void {
  let held: string[] = [];
  const flush = (): void => {
    if (held.length === 0) return;
    const text = held.join('');
    held = [];
    write(text);
  };
  process.on('exit', flush);
  return (line) => {
    held.push(line);
    if (held.length === 1) setImmediate(flush);
  };
}
