/** Writes plain values as YAML that people like to read: block style, texts of several lines as such. */

const indentStep = '  ';
const plainKey = /^[A-Za-z_][A-Za-z0-9_./-]*$/;
/** Letters first, and nothing inside that has a meaning in YAML. */
const plainText = /^[A-Za-z/][A-Za-z0-9_./@=+-]*(?: [A-Za-z0-9_./@=+(),'-]+)*$/;
/** Words that other readers take for something else than text. */
const otherWords = /^(?:true|false|yes|no|on|off|y|n|null|nan|inf)$/i;
/** A literal block may hold these; everything else is written with escapes. */
const literalText = /^[^\s][\t\n\x20-\x7e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]*$/;

/** The value must be JSON; undefined members are left out. */
export function yamlText(value: unknown): string {
  return `${written(value, '').replace(/^\n/, '')}\n`;
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
