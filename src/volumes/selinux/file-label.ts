/** Reads which SELinux label files of containers have by default: the policy of the machine says so. */
import { errorText } from '../../async/index.js';
import { type Host, readRegular } from '../../host/index.js';

/** The parts of a label `user:role:type:level`; a level may have colons itself. */
export interface FileLabel {
  readonly user: string;
  readonly role: string;
  readonly type: string;
  readonly level: string;
}

const fileLimitBytes = 64 * 1024;
/** What a package with a policy for containers brings; it comes before the policy's own file. */
const packagePath = '/usr/share/containers/selinux/contexts';
const configPath = '/etc/selinux/config';

/** Rejects where no file tells it. */
export async function readFileLabel(host: Pick<Host, 'hold'>): Promise<FileLabel> {
  const read = async (path: string): Promise<string> => {
    try {
      return (await readRegular(host, path, fileLimitBytes)).toString('utf8');
    } catch (error) {
      throw new Error(`${path}: ${errorText(error)}`, { cause: error });
    }
  };
  const fromPackage = await read(packagePath).then(parseContexts, () => undefined);
  if (fromPackage !== undefined) return fromPackage;
  const type = parsePolicyType(await read(configPath));
  if (type === undefined) throw new Error(`${configPath} does not name the type of the SELinux policy`);
  const path = `/etc/selinux/${type}/contexts/lxc_contexts`;
  const label = parseContexts(await read(path));
  if (label === undefined) throw new Error(`${path} has no label for files of containers`);
  return label;
}

/** `SELINUXTYPE=targeted`; it becomes a part of a path. */
export function parsePolicyType(config: string): string | undefined {
  return /^[ \t]*SELINUXTYPE[ \t]*=[ \t]*([A-Za-z0-9_][A-Za-z0-9_.-]*)[ \t]*$/m.exec(config)?.[1];
}

/** The line `file = "system_u:object_r:container_file_t:s0"`. */
export function parseContexts(contexts: string): FileLabel | undefined {
  const [, text = ''] = /^[ \t]*file[ \t]*=[ \t]*"?([^"\s]+)"?[ \t]*$/m.exec(contexts) ?? [];
  const [, user, role, type, level] = /^([\w.-]+):([\w.-]+):([\w.-]+):([\w.,:-]+)$/.exec(text) ?? [];
  if (user === undefined || role === undefined || type === undefined || level === undefined) return undefined;
  return { user, role, type, level };
}
