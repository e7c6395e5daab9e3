/** For tests: a store on this machine that keeps its reports. */
import type { Clock } from '../async/index.js';
import { DurableFiles, linuxHost, type UnusableFile } from '../host/index.js';

export function testDurableFiles(clock: Clock, setAside: UnusableFile[] = []): DurableFiles {
  return new DurableFiles({
    files: linuxHost().files,
    clock,
    observer: { setAside: (file) => setAside.push(file), failing: () => {}, recovered: () => {} },
  });
}
