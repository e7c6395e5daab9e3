/** Texts of which a replay needs the form: registries with their passwords, and files of variables. */

/** Whether a text is what `docker login` writes, or the older form of it. */
export function isDockerConfig(text: string): boolean {
  if (!text.trimStart().startsWith('{')) return false;
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}

/** The same registries with other names and passwords. A text of another form is masked as a whole. */
export function dockerConfigFile(text: string, placeholder: (text: string) => string): string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return placeholder(text);
  }
  return isObject(parsed) ? JSON.stringify(maskedLeaves(parsed, '', placeholder)) : placeholder(text);
}

function maskedLeaves(value: unknown, name: string, placeholder: (text: string) => string): unknown {
  if (typeof value === 'string') {
    if (name === 'email') return placeholder(value);
    // A name and a password behind a colon.
    if (name === 'auth') return Buffer.from(`masked:${placeholder(value)}`).toString('base64');
    return placeholder(value);
  }
  if (Array.isArray(value)) return value.map((each) => maskedLeaves(each, name, placeholder));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, maskedLeaves(each, key, placeholder)]),
  );
}

/** The same names with other values. */
export function envFile(text: string, placeholder: (text: string) => string): string {
  return text
    .split('\n')
    .map((line) => {
      const at = line.indexOf('=');
      if (at < 0 || line.trimStart().startsWith('#')) return line.trim() === '' ? line : placeholder(line);
      return `${line.slice(0, at + 1)}${placeholder(line.slice(at + 1))}`;
    })
    .join('\n');
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
