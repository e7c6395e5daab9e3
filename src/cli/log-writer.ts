/** Writes log lines in one go every now and then: a burst of pods makes many of them, and each write wakes who reads. */

const heldMs = 50;
/** More lines than this do not wait. */
const maxHeld = 200;

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
    if (held.length === 1) setTimeout(flush, heldMs).unref();
    else if (held.length >= maxHeld) flush();
  };
}
