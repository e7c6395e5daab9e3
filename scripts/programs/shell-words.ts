/** Finds the programs that a shell script calls, as far as its text tells. */

const builtIns = new Set(
  (
    '. : [ alias bg break case cd command continue do done echo elif else esac eval exec exit export false fg fi for ' +
    'function getopts hash if in jobs kill local printf pwd read readonly return set shift test then times trap true ' +
    'type ulimit umask unalias unset until wait while source complete compgen shopt declare { } ! ((  [['
  ).split(' '),
);
/** Words before the command itself. */
const prefixes = new Set(['if', 'then', 'elif', 'else', 'while', 'until', 'do', 'exec', 'command', '!', '{']);

export function programsOfShell(script: string): string[] {
  const plain = script
    .replace(/(^|\s)#.*$/gm, '$1')
    // Interpolations of a template and of the shell are not known; what is quoted is an argument.
    .replace(/\$\{[^}]*\}/g, '$X')
    .replace(/'[^']*'/g, '_QUOTED_')
    .replace(/"(?:[^"\\]|\\.)*"/g, (text) => `_QUOTED_${nestedCommands(text)}`)
    .replace(/\d*[<>]&?\d*-?/g, (text) => (text.includes('&') ? ' ' : ' > '));
  const programs = plain
    .split(/\|\||&&|[;|&\n()`]|\$\(/)
    .map((command) => commandWord(command))
    .filter((word): word is string => word !== undefined);
  return [...new Set(programs)];
}

/** Commands within double quotes, as commands of their own. */
function nestedCommands(text: string): string {
  return [...text.matchAll(/\$\(([^()]*)\)/g)].map(([, command]) => `; ${command} ;`).join('');
}

function commandWord(command: string): string | undefined {
  const words = command.trim().split(/\s+/);
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at] ?? '';
    if (prefixes.has(word) || /^\w+=/.test(word)) continue;
    if (word === '>') {
      at++;
      continue;
    }
    break;
  }
  const word = words[at] ?? '';
  return /^[a-z][\w.+-]*$/.test(word) && !builtIns.has(word) ? word : undefined;
}
