/** Finds the types that files declare, and judges their names: each stands for one type, and says which. */

export interface NamedSource {
  /** From the root of the repository: `src/pods/index.ts`. */
  readonly path: string;
  readonly text: string;
}

/** A type that a file declares, private ones and those inside functions included. */
export interface DeclaredType {
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  readonly name: string;
}

/** Words that fit any type, so that a reader learns nothing from them. */
const vagueNames: ReadonlySet<string> = new Set([
  'Answer',
  'Data',
  'Found',
  'Info',
  'Item',
  'Kept',
  'Known',
  'Place',
  'Reading',
  'Thing',
  'Turn',
]);

/** An import of a type has a comma or a brace after the name, a declaration never has. */
const declaration =
  /^[ \t]*(?:export )?(?:default )?(?:declare )?(?:abstract )?(?:(?:const )?enum|interface|class|type) ([A-Za-z_$][\w$]*)(?=\s*[<{=]|\s+(?:extends|implements)\b)/gm;

export function readTypes({ path, text }: NamedSource): DeclaredType[] {
  return [...text.matchAll(declaration)].map((match) => ({
    path,
    line: text.slice(0, match.index).split('\n').length,
    name: match[1] ?? '',
  }));
}

/** One line for each type with a bad name. */
export function typeNameProblems(types: readonly DeclaredType[]): string[] {
  const first = new Map<string, DeclaredType>();
  const problems: string[] = [];
  for (const type of types) {
    const { path, line, name } = type;
    const other = first.get(name);
    if (other === undefined) first.set(name, type);
    else {
      problems.push(
        `${path}:${line}: the name ${name} is taken by ${other.path}:${other.line}; share that type if both mean the same, or else give each a name that tells them apart`,
      );
    }
    if (vagueNames.has(name)) {
      problems.push(`${path}:${line}: the name ${name} fits any type; name what the type describes`);
    }
  }
  return problems;
}
