/** A pod's host name and domain, for its kernel and its hosts file. */
import { formatPod, type Pod } from '../../kube/index.js';

export interface PodHostname {
  readonly hostname: string;
  /** Empty when the pod has no subdomain. */
  readonly domain: string;
}

const hostnameMaxLength = 63;
/** The kernel's limit for host names. */
const kernelHostnameMaxLength = 64;

const label = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
const labelGrammar = new RegExp(`^${label}$`);
const subdomainGrammar = new RegExp(`^${label}(?:\\.${label})*$`);

/** Fails when one of the names in the spec is not a DNS name. */
export function podHostname(pod: Pod, clusterDomain: string): PodHostname {
  const { hostnameOverride, hostname, subdomain } = pod.spec;
  if (hostnameOverride !== undefined) {
    if (hostnameOverride.length > 253 || !subdomainGrammar.test(hostnameOverride)) {
      throw new Error(
        `pod HostnameOverride "${hostnameOverride}" is not a valid DNS subdomain: use at most 253 of lower case letters, digits, '-' and '.', with a letter or digit at both ends of each part`,
      );
    }
    return { hostname: truncate(hostnameOverride, pod), domain: '' };
  }
  let name = pod.metadata.name;
  if (hostname !== undefined && hostname !== '') {
    requireLabel('Hostname', hostname);
    name = hostname;
  }
  let domain = '';
  if (subdomain !== undefined && subdomain !== '') {
    requireLabel('Subdomain', subdomain);
    domain = `${subdomain}.${pod.metadata.namespace}.svc.${clusterDomain}`;
  }
  return { hostname: truncate(name, pod), domain };
}

/** The host name set in the pod's UTS namespace. */
export function kernelHostname({ hostname, domain }: PodHostname, setHostnameAsFqdn: boolean): string {
  if (!setHostnameAsFqdn || domain === '') return hostname;
  const fqdn = `${hostname}.${domain}`;
  if (fqdn.length > kernelHostnameMaxLength) {
    throw new Error(
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long (${kernelHostnameMaxLength} characters is the max, ${fqdn.length} characters requested)`,
    );
  }
  return fqdn;
}

function requireLabel(field: 'Hostname' | 'Subdomain', value: string): void {
  if (value.length <= hostnameMaxLength && labelGrammar.test(value)) return;
  throw new Error(
    `pod ${field} "${value}" is not a valid DNS label: use at most ${hostnameMaxLength} of lower case letters, digits and '-', with a letter or digit at both ends`,
  );
}

function truncate(name: string, pod: Pod): string {
  if (name.length <= hostnameMaxLength) return name;
  const cut = name.slice(0, hostnameMaxLength).replace(/[-.]+$/, '');
  if (cut === '') {
    throw new Error(
      `hostname "${name}" of pod "${formatPod(pod)}" has nothing but '-' and '.' in its first ${hostnameMaxLength} characters; set spec.hostname`,
    );
  }
  return cut;
}
