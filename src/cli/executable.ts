/** The entry of the single executable: the program, or the supervisor of one container of the process runtime. */
import { supervisorWord } from '../runtimes/process/supervisor-entry.js';

// Without a handler this signal opens Node's inspector to every user of the machine.
process.on('SIGUSR1', () => {});

if (process.argv[2] === supervisorWord) {
  // The supervisor finds its arguments where its own script would.
  process.argv.splice(2, 1);
  await import('../runtimes/process/supervisor.js');
} else {
  await import('./main.js');
}
