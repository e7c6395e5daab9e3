/** Writes plain values as YAML that people like to read: block style, texts of several lines as such. */

const indentStep = '  ';
const plainKey = /^[A-Za-z_][A-Za-z0-9_./-]*$/;
/** Letters first, and nothing inside that has a meaning in YAML. */
const plainText = /^[A-Za-z/][A-Za-z0-9_./@=+-]*(?: [A-Za-z0-9_./@=+(),'-]+)*$/;
/** Words that other readers take for something else than text. */
const otherWords = /^(?:true|false|yes|no|on|off|y|n|null|nan|inf|e[0-9]+)$/i;
/** A literal block may hold these; everything else is written with escapes. */
const literalText = /^[^\s][\t\n\x20-\x7e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]*$/;

/** YAML takes no longer keys in this style. */
const longestKey = 900;

/** Lines that nobody reads are not worth their indents, which would make many times the text of a deep list. */
const mostLines = 5_000;

/**
 * The value must be JSON; undefined members are left out. With longer keys or too many lines it is written as JSON, which
 * YAML contains.
 */
export function yamlText(value: unknown): string {
  const lines = countLines(value, mostLines);
  if (lines > mostLines) return `${JSON.stringify(value)}\n`;
  return `${written(value, '').replace(/^\n/, '')}\n`;
}

/** Of a text in block style; stops counting beyond `most`, as for a key that is too long. */
function countLines(value: unknown, most: number): number {
  if (typeof value === 'string') return value.includes('\n') ? value.split('\n', most + 2).length : 1;
  if (typeof value !== 'object' || value === null) return 1;
  let lines = 1;
  for (const [key, member] of Object.entries(value)) {
    if (key.length > longestKey / 6 && JSON.stringify(key).length > longestKey) return most + 1;
    lines += countLines(member, most);
    if (lines > most) break;
  }
  return lines;
}

/** Begins with a line break when it needs lines of its own. */
function written(value: unknown, indent: string): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return value.map((item) => `\n${indent}- ${inItem(item, `${indent}${indentStep}`)}`).join('');
  }
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    if (members.length === 0) return '{}';
    return members.map(([key, member]) => `\n${indent}${keyText(key)}:${after(member, indent)}`).join('');
  }
  return typeof value === 'string' ? textOf(value, indent) : JSON.stringify(value ?? null);
}

/** The first member of a mapping stands beside the dash. */
function inItem(item: unknown, indent: string): string {
  return written(item, indent).replace(/^\n +/, '');
}

function after(member: unknown, indent: string): string {
  const isList = Array.isArray(member);
  const text = written(member, isList ? indent : `${indent}${indentStep}`);
  return text.startsWith('\n') ? text : ` ${text}`;
}

function keyText(key: string): string {
  return plainKey.test(key) && !otherWords.test(key) ? key : JSON.stringify(key);
}

function textOf(text: string, indent: string): string {
  if (plainText.test(text) && !otherWords.test(text)) return text;
  if (!text.includes('\n') || !literalText.test(text) || /[ \t]\n|\n\n$/.test(text))
    return JSON.stringify(text);
  const lines = text.endsWith('\n') ? text.slice(0, -1) : text;
  const mark = text.endsWith('\n') ? '|' : '|-';
  const own = indent === '' ? indentStep : indent;
  return `${mark}\n${lines
    .split('\n')
    .map((line) => (line === '' ? '' : `${own}${line}`))
    .join('\n')}`;
}
