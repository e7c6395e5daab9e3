/** The entry of the program: prepares the process and runs the command line. */
import { runCommandLine } from './commands.js';
import { keepInspectorClosed } from './inspector.js';
import { setV8Flags } from './v8-flags.js';

await keepInspectorClosed();
setV8Flags('everyCommand');
process.exitCode = await runCommandLine(process.argv.slice(2));
