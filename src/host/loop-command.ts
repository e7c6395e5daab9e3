/** The arguments and error texts of `losetup`, shared by both implementations of the port. */
import {
  absolutePath,
  BadProgramWord,
  CommandLine,
  checkedWord,
  type ProgramFailure,
} from '../programs/index.js';
import { HostError } from './host.js';

export function attachLoopCommand(file: string): CommandLine {
  return checked(file, () =>
    CommandLine.of('losetup')
      .literal('-f')
      .operands(checkedWord(absolutePath, 'loop file', file)),
  );
}

export function detachLoopCommand(device: string): CommandLine {
  return checked(device, () =>
    CommandLine.of('losetup').optionWord('-d', checkedWord(absolutePath, 'loop device', device)),
  );
}

function checked(path: string, command: () => CommandLine): CommandLine {
  try {
    return command();
  } catch (error) {
    if (!(error instanceof BadProgramWord)) throw error;
    throw new HostError('EINVAL', path, `cannot set up a loop device: ${error.message}`, { cause: error });
  }
}

export function loopFailure(path: string, command: CommandLine, failure: ProgramFailure): HostError {
  const code = failure.timedOut ? 'ETIMEDOUT' : 'EIO';
  const text = `${command.toString()} failed: ${failure.status}\nOutput: ${failure.output}`;
  return new HostError(code, path, text);
}

/** The kernel's text of a loop device's file. */
export function backingFile(text: string): string {
  return text.replace(/\n$/, '').replace(/ \(deleted\)$/, '');
}
