/** Parses label selectors with the syntax of kubectl's `-l`. */
import { UsageError } from '../client/usage-error.js';

type ObjectLabels = Readonly<Record<string, string>>;
export type LabelMatcher = (labels: ObjectLabels) => boolean;

/** `a=b`, `a==b`, `a!=b`, `a`, `!a`, `a in (x,y)`, `a notin (x,y)`, comma-separated. An empty text matches everything. */
export function parseSelector(text: string): LabelMatcher {
  const requirements = splitOutsideParentheses(text)
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(parseRequirement);
  return (labels) => requirements.every((matches) => matches(labels));
}

function splitOutsideParentheses(text: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const char of text) {
    if (char === '(') depth++;
    if (char === ')') depth--;
    if (char === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += char;
  }
  return parts;
}

const key = '([A-Za-z0-9](?:[A-Za-z0-9_./-]*[A-Za-z0-9])?)';
const value = '([A-Za-z0-9_.-]*)';
const equality = new RegExp(`^${key}\\s*(==|=|!=)\\s*${value}$`);
const membership = new RegExp(`^${key}\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const existence = new RegExp(`^(!?)\\s*${key}$`);

function parseRequirement(part: string): LabelMatcher {
  const [, equalKey, operator, wanted = ''] = equality.exec(part) ?? [];
  if (equalKey !== undefined) {
    return operator === '!='
      ? (labels) => labels[equalKey] !== wanted
      : (labels) => labels[equalKey] === wanted;
  }
  const [, setKey, word, list = ''] = membership.exec(part) ?? [];
  if (setKey !== undefined) {
    const values = new Set(list.split(',').map((item) => item.trim()));
    const isIn: LabelMatcher = (labels) => Object.hasOwn(labels, setKey) && values.has(labels[setKey] ?? '');
    return word === 'in' ? isIn : (labels) => !isIn(labels);
  }
  const [, not, existing] = existence.exec(part) ?? [];
  if (existing === undefined) {
    throw new UsageError(
      `unable to parse the selector ${JSON.stringify(part)}: write key=value, key!=value, key, !key, or key in (a,b)`,
    );
  }
  return (labels) => Object.hasOwn(labels, existing) !== (not === '!');
}
