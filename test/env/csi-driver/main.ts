/** The driver as a program of its own: `node --import tsx main.ts OPTIONS`, which are those of the driver as JSON. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { TestCsiDriver, type TestCsiDriverOptions } from '../csi-driver.js';

// The process that starts it wrote them from such an object.
const options = JSON.parse(process.argv[2] ?? '') as TestCsiDriverOptions;
if (options.journal !== undefined) mkdirSync(path.dirname(options.journal.callsFile), { recursive: true });
const driver = new TestCsiDriver(options);
process.once('SIGTERM', () => {
  void driver.stop().then(() => process.exit(0));
});
await driver.start();
