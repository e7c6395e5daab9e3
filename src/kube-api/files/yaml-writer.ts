/** Writes plain values as YAML that people like to read: block style, texts of several lines as such. */

const indentStep = '  ';
const plainKey = /^[A-Za-z_][A-Za-z0-9_./-]*$/;
/** Letters first, and nothing inside that has a meaning in YAML. */
const plainText = /^[A-Za-z/][A-Za-z0-9_./@=+-]*(?: [A-Za-z0-9_./@=+(),'-]+)*$/;
/** Words that other readers take for something else than text. */
const otherWords = /^(?:true|false|yes|no|on|off|y|n|null|nan|inf)$/i;
/** A literal block may hold these; everything else is written with escapes. */
const literalText = /^[^\s][\t\n\x20-\x7e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]*$/;

/** YAML takes no longer keys in this style. */
const longestKey = 900;

/** The value must be JSON; undefined members are left out. With longer keys it is written as JSON, which YAML contains. */
export function yamlText(value: unknown): string {
  if (hasLongKey(value)) return `${JSON.stringify(value, null, 1)}\n`;
  return `${written(value, '').replace(/^\n/, '')}\n`;
}

function hasLongKey(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasLongKey);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(
    ([key, member]) => JSON.stringify(key).length > longestKey || hasLongKey(member),
  );
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
