/** Texts of the node: the kernel's files, logs, configuration, credentials, checkpoints and requests. */
import { X509Certificate } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { ConfigurationError } from '../../src/config/config-error.js';
import { decodeConfigFile } from '../../src/config/decode.js';
import { flagSpecs } from '../../src/config/flag-table.js';
import { parseKubeletCommandLine, validateKubeletFlags } from '../../src/config/flags.js';
import { parseMountinfo, unescapeOctal } from '../../src/host/linux/mountinfo.js';
import { CpuSet, SyntaxProblem } from '../../src/kube/index.js';
import { readExecCredential } from '../../src/kube-client/exec-credential.js';
import { KubeconfigError, parseKubeconfig } from '../../src/kube-client/kubeconfig.js';
import { chainOf, splitPem } from '../../src/node/certificates/pair.js';
import { countCpuList, osImageOf, parseMeminfo } from '../../src/node/machine/facts.js';
import { kernelMessage, type OomReport, readOomLine } from '../../src/node/oom-watcher/kills.js';
import { judgeAnswer } from '../../src/plugins/claim.js';
import { controllerMounts } from '../../src/resources/cgroups/v1-mounts.js';
import {
  CpuCheckpointError,
  formatCpuCheckpoint,
  parseCpuCheckpoint,
} from '../../src/resources/cpu-manager/cpu-checkpoint.js';
import { readMemoryCheckpoint } from '../../src/resources/memory-manager/read-checkpoint.js';
import { cgroupOfProcess, numbersOfV1, numbersOfV2 } from '../../src/resources/stats/cgroup.js';
import { detailsOfV1, detailsOfV2 } from '../../src/resources/stats/cgroup-details.js';
import {
  bootTimeMs,
  KeyedNumbers,
  memInfo,
  netDev,
  pressure,
  processCount,
} from '../../src/resources/stats/machine-files.js';
import { openFilesLimit, processIds } from '../../src/resources/stats/processes.js';
import { findInEnvFile } from '../../src/runtime-manager/config/env-file.js';
import { parseResolvConf } from '../../src/runtime-manager/config/resolv-conf.js';
import {
  parseDockerConfigJson,
  parseDockercfg,
} from '../../src/runtime-manager/images/credentials/docker-config.js';
import { readProviders } from '../../src/runtime-manager/images/credentials/plugin-config.js';
import { parsePluginAnswer } from '../../src/runtime-manager/images/credentials/plugin-response.js';
import {
  entryKey,
  lookUp,
  matchesImage,
} from '../../src/runtime-manager/images/credentials/registry-match.js';
import { detectFormat, formatRecordTime, parseLogLine } from '../../src/runtime-manager/logs/format.js';
import { parseAgentIdentity, parseClaim, parseState } from '../../src/runtimes/process/container-state.js';
import { parseProcStat } from '../../src/runtimes/process/proc-stat.js';
import { parsePasswd } from '../../src/runtimes/process/users.js';
import { decodeLogQuery } from '../../src/server/api/log-query.js';
import { decodePorts, decodeStreams } from '../../src/server/api/stream-query.js';
import { attributesOf } from '../../src/server/auth/attributes.js';
import { bearerToken, webSocketToken } from '../../src/server/auth/bearer.js';
import { verifyClientChain } from '../../src/server/auth/certificate-chain.js';
import { decodeNodeLogQuery } from '../../src/server/node-logs/query.js';
import { readCaBundle } from '../../src/server/tls/ca-bundle.js';
import { decideHandshake } from '../../src/streaming/handshake.js';
import { parseStatus } from '../../src/streaming/status.js';
import { deviceName, parseDeviceName, stagingDirectory } from '../../src/volumes/csi/names.js';
import { chooseVersion } from '../../src/volumes/csi/versions.js';
import { parseVolData } from '../../src/volumes/csi/vol-data.js';
import {
  flexAnswer,
  flexCapabilities,
  flexExecutable,
  isFlexDriverName,
} from '../../src/volumes/plugins/flex/flex-driver.js';
import {
  iscsiDeviceName,
  iscsiGlobalName,
  reviveIscsiDisk,
} from '../../src/volumes/plugins/remote-disks/iscsi-disk.js';
import { certificateChain, normalizeCertificates } from '../../src/volumes/trust-bundles/pem.js';
import { generateKeyPem, makeCertificate } from '../../src/x509/certificate.js';
import { holds, never, only, type Target, texts } from '../target.js';

const logLines: Target = {
  name: 'log-lines',
  seeds: texts(
    '2024-01-02T03:04:05.123456789Z stdout F hello\n',
    '2024-01-02T03:04:05.1+02:00 stderr P:x part\n',
    '{"log":"hi\\n","stream":"stdout","time":"2024-01-02T03:04:05.5Z"}\n',
  ),
  words: [' stdout ', ' stderr ', ' F ', ' P ', '"log":'],
  refuses: never,
  run(input) {
    const format = detectFormat(input);
    if (format === undefined) return;
    const record = parseLogLine(format, input);
    holds(record !== undefined, 'a line of a detected format is a record');
    formatRecordTime(record.timestamp);
  },
};

const mountinfo: Target = {
  name: 'mountinfo',
  seeds: texts(
    '36 35 98:0 /root /target\\040x rw,noatime shared:1 master:2 - ext3 /dev/sda1 rw,errors=continue\n37 36 0:5 / /proc rw - proc proc rw\n',
    '30 24 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n',
  ),
  words: [' - ', '\\134', '\\040', ' /target', '\n'],
  refuses: never,
  run(input) {
    const text = input.toString('utf8');
    const all = parseMountinfo(text);
    const below = parseMountinfo(text, '/target x');
    holds(
      below.every((mount) => all.some((other) => isDeepStrictEqual(other, mount))),
      'what is listed below a path is listed',
    );
    unescapeOctal(text);
    controllerMounts(text);
  },
};

const procFiles: Target = {
  name: 'proc-files',
  seeds: texts(
    'MemTotal:       16303428 kB\nSwapTotal: 0 kB\nMemFree: 1 kB\n',
    '42 (a) b (c) S 1 42 42 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 123456 1000 200 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n',
    'cpu  1 2 3\nbtime 1700000000\nprocesses 12\n',
    'Inter-| Receive\n face |bytes\n  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n',
    '0-3,8-11\n',
    'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12"\n',
    'root:x:0:0:root:/root:/bin/bash\nbad\n',
    '12:cpu,cpuacct:/kubepods/pod1\n0::/x\n',
  ),
  words: ['\n', ':', ' kB', '(', ')', '-'],
  refuses: never,
  run(input) {
    const text = input.toString('utf8');
    // It wants the whole memory, and says so when there is none.
    if (/^MemTotal:\s+\d+ kB$/m.test(text)) parseMeminfo(text);
    memInfo(text);
    bootTimeMs(text);
    processCount(text);
    netDev(text);
    parseProcStat(text);
    osImageOf(text);
    parsePasswd(text);
    cgroupOfProcess(text);
    countCpuList(text);
  },
};

const cgroupFiles: Target = {
  name: 'cgroup-files',
  seeds: texts(
    'usage_usec 100\nuser_usec 50\nnr_throttled 1\n',
    'anon 5\ninactive_file 3\ntotal_inactive_file 9\n',
    'some avg10=0.00 avg60=1.50 avg300=0.00 total=17\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n',
    'max\n',
    '9223372036854771712\n',
    '8:0 rbytes=1 wbytes=2 rios=3 wios=4 cost.usage=5\n',
    '8:0 Read 123\n8:0 Total 123\nTotal 123\n',
    'Max open files            1024                 524288               files     \n',
  ),
  words: ['max', 'total=', 'avg10=', '\n', ' ', 'Read', '8:0 '],
  run(input) {
    const text = input.toString('utf8');
    new KeyedNumbers(text).get(text.slice(0, 8));
    pressure(text);
    const read = (): string => text;
    const numbers = numbersOfV2(read);
    holds(numbers.usageCoreNanoSeconds >= 0n, 'processors count upwards');
    detailsOfV2(read, false);
    detailsOfV1({ cpu: read, cpuacct: read, memory: read, pids: read, blkio: read }, false);
    holds(
      processIds(text).every((pid) => pid > 0),
      'a process has a number',
    );
    openFilesLimit(text);
    numbersOfV1(read, read);
  },
};

const kernelLog: Target = {
  name: 'kernel-log',
  seeds: texts(
    '6,1234,5678,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=/kubepods/pod1,task_memcg=/kubepods/pod1/c,task=app,pid=42,uid=0\n',
    '3,1235,5679,-;Memory cgroup out of memory: Killed process 42 (app) total-vm:1kB, anon-rss:1kB\n',
    '4,1,1,-;app invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0\n',
  ),
  words: ['oom-kill:', ',task_memcg=', ',pid=', 'Killed process ', ';'],
  refuses: never,
  run(input) {
    let report: OomReport;
    for (const line of input.toString('utf8').split('\n')) {
      ({ report } = readOomLine(report, kernelMessage(line)));
    }
  },
};

const podFiles: Target = {
  name: 'pod-files',
  seeds: texts(
    'search a.example b.example\nnameserver 10.0.0.1\noptions ndots:5 timeout:1\n# x\n; y\n',
    'A=1\nexport B="two"\n# c\nKEY = value\n',
  ),
  words: ['nameserver ', 'search ', 'options ', '\n', '='],
  refuses: (error) => error instanceof Error && error.constructor === Error,
  run(input) {
    const text = input.toString('utf8');
    parseResolvConf(text);
    findInEnvFile(text, 'KEY');
  },
};

const cpuSet: Target = {
  name: 'cpu-set',
  seeds: texts('0-3,8', '1', '0-65535', '7-7,7,7'),
  words: [',', '-', '65536'],
  run(input) {
    const cpus = CpuSet.parse(input.toString('utf8'));
    holds(CpuSet.parse([...cpus].join(',')).equals(cpus), 'a list of the CPUs is the same set');
    holds(CpuSet.parse(String(cpus)).equals(cpus), 'the text of a set is the same set');
  },
};

const cpuCheckpoint: Target = {
  name: 'cpu-checkpoint',
  seeds: texts(
    '{"policyName":"none","defaultCpuSet":"","checksum":1353318690,"data":"{\\"policyName\\":\\"none\\",\\"defaultCpuSet\\":\\"\\"}","dataChecksum":3028111495}',
    '{"policyName":"static","defaultCpuSet":"0,4-7","entries":{"p":{"c":"1-3"}},"checksum":0}',
  ),
  words: ['"podEntries"', '"cpuSet"', '"0-65535"', '"checksum":0', 'null'],
  run(input) {
    try {
      const read = parseCpuCheckpoint(input.toString('utf8'), { readsV2Names: true });
      const again = parseCpuCheckpoint(formatCpuCheckpoint(read), { readsV2Names: true });
      holds(
        formatCpuCheckpoint(again) === formatCpuCheckpoint(read),
        'a state that was written is read the same',
      );
    } catch (error) {
      if (!(error instanceof CpuCheckpointError)) throw error;
    }
  },
};

const configText = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true, cacheTTL: 2m0s}}
evictionHard: {memory.available: 100Mi, nodefs.available: 10%}
evictionSoftGracePeriod: {memory.available: 1m}
featureGates: {InPlacePodVerticalScaling: true}
registerWithTaints: [{key: a, value: b, effect: NoSchedule}]
reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]
staticPodURLHeader: {Authorization: [x]}
logging: {vmodule: [{filePattern: a, verbosity: 3}], flushFrequency: 5}
maxPods: 110
reservedSystemCPUs: 0-1
`;

const configFile: Target = {
  name: 'config-file',
  floodBytes: 8 * 1024,
  seeds: texts(
    configText,
    '{"kind":"KubeletConfiguration","apiVersion":"kubelet.config.k8s.io/v1beta1","port":1}',
  ),
  words: ['null', '~', 'evictionSoft: ', 'featureGates: ', '- ', 'streamingConnectionIdleTimeout: 4h\n'],
  refuses: only(ConfigurationError, SyntaxProblem),
  run(input) {
    const text = input.toString('utf8');
    decodeConfigFile(text, '/etc/kubelet.yaml', { lenient: (input[0] ?? 0) % 2 === 0 });
  },
};

const flags: Target = {
  name: 'flags',
  floodBytes: 8 * 1024,
  seeds: texts(
    '--config=/a\n--v=4\n--node-labels=a=b,c=d\n--feature-gates=A=true',
    '--eviction-hard\nmemory.available<1Gi\n-v\n3\n--port=0',
    '--help',
    '--register-with-taints=a=b:NoSchedule\n--kube-reserved=cpu=1,memory=1Gi\n--reserved-memory=0:memory=1Gi',
  ),
  words: [...flagSpecs.map(({ name }) => `\n--${name}=`), '=', ',', '--', 'true', '<', ':'],
  refuses: only(ConfigurationError),
  run(input) {
    const command = parseKubeletCommandLine(input.toString('utf8').split('\n'));
    if (command.kind === 'run') validateKubeletFlags(command.flags);
  },
};

const kubeconfig: Target = {
  name: 'kubeconfig',
  floodBytes: 8 * 1024,
  seeds: texts(
    'apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: k, cluster: {server: "https://127.0.0.1:6443", certificate-authority-data: aGk=}}]\nusers: [{name: u, user: {token: t}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n',
    'current-context: c\nclusters: [{name: k, cluster: {server: "https://a:1", insecure-skip-tls-verify: true, tls-server-name: x}}]\nusers: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: p, args: [a], env: [{name: A, value: b}], provideClusterInfo: true}}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n',
    'current-context: c\nclusters: [{name: k, cluster: {server: "https://a", proxy-url: "http://p:1"}}]\nusers: [{name: u, user: {client-certificate: a.crt, client-key: a.key, username: x}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n',
  ),
  words: ['server: ', 'http://', 'exec: {', 'tokenFile: /t\n', 'null'],
  refuses: only(KubeconfigError, SyntaxProblem),
  run: (input) => void parseKubeconfig(input.toString('utf8'), '/etc/kubeconfig'),
};

const plugin = {
  apiVersion: 'client.authentication.k8s.io/v1',
  command: 'plugin',
  args: [],
  env: [],
  provideClusterInfo: false,
  installHint: undefined,
} as unknown as Parameters<typeof readExecCredential>[1];

const execCredential: Target = {
  name: 'exec-credential',
  seeds: texts(
    '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t","expirationTimestamp":"2030-01-02T03:04:05Z"}}',
    '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"clientCertificateData":"c","clientKeyData":"k"}}',
  ),
  run: (input) => void readExecCredential(input.toString('utf8'), plugin),
};

const credentialPlugins: Target = {
  name: 'credential-plugins',
  seeds: texts(
    '{"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"Registry","cacheDuration":"5m","auth":{"*.example.com":{"username":"u","password":"p"}}}',
    '{"auths":{"https://registry.example/v1/":{"auth":"dTpw","email":"e"},"b":{"username":"u","password":"p"}}}',
    '{"registry.example":{"username":"u","password":"p"}}',
  ),
  words: ['"auths":', '*.', 'https://', ':443', '/path'],
  run(input) {
    const text = input.toString('utf8');
    const attempts = [
      () => parseDockerConfigJson(text),
      () => parseDockercfg(text),
      () => parsePluginAnswer(text, 'credentialprovider.kubelet.k8s.io/v1').auth,
    ];
    let failure: unknown;
    for (const attempt of attempts) {
      try {
        for (const registry of attempt().keys()) {
          const key = entryKey(registry);
          matchesImage(key, 'registry.example/team/app');
          lookUp(new Map([[key, [1]]]), 'registry.example/team/app');
        }
      } catch (error) {
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
  },
};

const credentialConfig: Target = {
  name: 'credential-config',
  floodBytes: 8 * 1024,
  seeds: texts(
    'apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n- name: p\n  apiVersion: credentialprovider.kubelet.k8s.io/v1\n  matchImages: ["*.example.com"]\n  defaultCacheDuration: 1m\n  args: [a]\n  env: [{name: A, value: b}]\n  tokenAttributes: {serviceAccountTokenAudience: x, cacheType: Token, requireServiceAccount: true, requiredServiceAccountAnnotationKeys: [a.io/b]}\n',
  ),
  words: ['matchImages: ', '- ', 'null', 'env: '],
  run: (input) =>
    void readProviders([{ path: 'x.yaml', text: input.toString('utf8') }], { tokensEnabled: true }),
};

const checkpoints: Target = {
  name: 'checkpoints',
  seeds: texts(
    '{"kind":"running","bootId":"b","supervisor":{"pid":5,"startTime":"1"},"process":{"pid":6,"startTime":"2"},"startedAt":"10"}',
    '{"kind":"exited","startedAt":"1","finishedAt":"2","exitCode":0,"reason":"r","message":"m"}',
    '{"by":"agent"}',
    '{"pid":7,"startTime":"9"}',
  ),
  words: ['"kind":"starting"', '"token":"t"', '"pid":1', '"startTime":"1"'],
  // Only the agent writes these; whatever else is found there is an error of any kind that its reader reports.
  refuses: (error) => error instanceof TypeError || error instanceof SyntaxError,
  run(input) {
    const text = input.toString('utf8');
    let failure: unknown;
    for (const parse of [parseState, parseClaim, parseAgentIdentity]) {
      try {
        parse(text);
      } catch (error) {
        failure = error;
      }
    }
    if (failure !== undefined) throw failure;
  },
};

const memoryCheckpoint: Target = {
  name: 'memory-checkpoint',
  seeds: texts(
    String.raw`{"policyName":"None","machineState":{},"checksum":4236770233,"data":"{\"policyName\":\"None\",\"machineState\":{}}","dataChecksum":3093843326}`,
    '{"policyName":"static","machineState":{"0":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":2048,"systemReserved":512,"allocatable":1536,"reserved":512,"free":1024}},"cells":[]}},"entries":{"pod":{"container1":[{"numaAffinity":[0],"type":"memory","size":512}]}},"checksum":4215593881}',
  ),
  words: ['"data":"', '"podEntries":{', '"memoryBlocks":[', '"numaAffinity":[0]', '"checksum":0', 'null'],
  run: (input) => void readMemoryCheckpoint(input.toString('utf8')),
};

const hour = 3_600_000;
const keyPem = generateKeyPem();
const certificatePem = makeCertificate({
  subject: { commonName: 'alice', organizations: ['dev'] },
  keyPem,
  notBeforeMs: Date.now() - hour,
  notAfterMs: Date.now() + 24 * hour,
  isAuthority: true,
  usages: ['clientAuth'],
  names: { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] },
});
const authority = new X509Certificate(certificatePem);

/** What OpenSSL says to bytes that are no certificate. */
function isOpenSslError(error: unknown): boolean {
  return (
    error instanceof Error &&
    ('opensslErrorStack' in error || String((error as NodeJS.ErrnoException).code).startsWith('ERR_OSSL'))
  );
}

const pem: Target = {
  name: 'pem',
  seeds: texts(certificatePem, certificatePem + keyPem, `x: y\n${certificatePem}\n# c\n${certificatePem}`),
  words: [
    '-----BEGIN CERTIFICATE-----',
    '-----END CERTIFICATE-----',
    '-----BEGIN ',
    '-----END ',
    '-----',
    '\n\n',
    'Proc-Type: 4\n',
  ],
  maxBytes: 64 * 1024,
  refuses: (error) => isOpenSslError(error) || (error instanceof Error && error.constructor === Error),
  run(input) {
    const text = input.toString('latin1');
    splitPem(text);
    const normal = normalizeCertificates([text], 'seed');
    holds(normalizeCertificates([normal], 'seed') === normal, 'normal certificates stay as they are');
    const chain = certificateChain(text);
    holds(certificateChain(chain) === chain, 'a clean chain stays as it is');
    chainOf(text);
    readCaBundle(text);
  },
};

const certificates: Target = {
  name: 'certificates',
  seeds: [authority.raw],
  refuses: isOpenSslError,
  run(input) {
    const leaf = new X509Certificate(input);
    verifyClientChain({ leaf, intermediates: [leaf, authority], roots: [authority], nowMs: Date.now() });
  },
};

function headersOf(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon > 0) headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return headers;
}

const requests: Target = {
  name: 'requests',
  seeds: texts(
    'GET /exec/ns/pod/c?command=sh&input=1&output=1&tty=1\nConnection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Key: a\nSec-WebSocket-Version: 13\nSec-WebSocket-Protocol: v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.dG9rZW4',
    'POST /portForward/ns/pod?port=80,81&port=82\nConnection: Upgrade\nUpgrade: SPDY/3.1\nX-Stream-Protocol-Version: portforward.k8s.io, v4.channel.k8s.io\nAuthorization: Bearer x',
    'GET /containerLogs/ns/pod/c?tailLines=5&sinceTime=2024-01-02T03:04:05Z&limitBytes=7&follow=true',
    'GET /logs/?query=kubelet&pattern=x&sinceTime=2024-01-02T03:04:05Z&tailLines=9&boot=-1',
  ),
  words: [
    'port=',
    '&',
    '%00',
    'tailLines=',
    '/metrics',
    '/stats/',
    '..',
    'Bearer ',
    'base64url.bearer.authorization.k8s.io.',
  ],
  refuses: never,
  run(input) {
    const [first = '', ...lines] = input.toString('latin1').split('\n');
    const [method = '', target = ''] = first.split(' ');
    const [path = '', query = ''] = target.split('?', 2);
    const parameters = new URLSearchParams(query);
    const headers = headersOf(lines);
    decodeLogQuery(parameters);
    decodeStreams(parameters);
    decodePorts(parameters, headers);
    decodeNodeLogQuery(parameters);
    attributesOf(method, path);
    bearerToken(headers);
    webSocketToken(headers);
    decideHandshake({ method, headers }, 'command');
    decideHandshake({ method, headers }, 'portforward');
  },
};

const remoteStatus: Target = {
  name: 'remote-status',
  seeds: texts(
    '{"status":"Failure","reason":"NonZeroExitCode","message":"m","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}',
    '{"status":"Success"}',
  ),
  run: (input) => void parseStatus(input.toString('utf8')),
};

/** What storage drivers leave on disk and say of themselves when they register. */
const drivers: Target = {
  name: 'drivers',
  seeds: texts(
    '{"attachmentID":"csi-1","driverName":"d.test","nodeName":"n","specVolID":"pv","volumeHandle":"h^1","volumeLifecycleMode":"Persistent"}\n',
    'kubernetes.io/csi/d.test^vol-1',
    '0.3.0 v1.2.0 2.0.0',
    '/d/csi.sock',
  ),
  words: ['"driverName":', '^', 'kubernetes.io/csi/', 'v1.', '..', '/'],
  run(input) {
    const text = input.toString('utf8');
    const volume = parseDeviceName(text);
    if (volume !== undefined) {
      holds(deviceName(volume) === text, 'a name that is read is the name that is written');
      holds(
        stagingDirectory('/r', volume).startsWith('/r/plugins/kubernetes.io/csi/'),
        'no name leads out of the directory of drivers',
      );
    }
    const versions = text.split(' ');
    const chosen = chooseVersion(versions);
    if (chosen.kind === 'version')
      holds(versions.includes(chosen.version), 'only a version that was offered is chosen');
    const judged = judgeAnswer(
      { type: 'CSIPlugin', name: text, endpoint: text, supportedVersions: versions },
      '/s',
    );
    if (judged.kind === 'claim') {
      holds(judged.claim.endpoint.startsWith('/'), 'an endpoint is an absolute path');
    }
    const { driverName, volumeHandle } = parseVolData(text, 'vol_data.json');
    holds(typeof driverName === 'string' && typeof volumeHandle === 'string', 'what is read is text');
  },
};

/** What a flexVolume driver writes, and what pods name one. */
const flexDrivers: Target = {
  name: 'flex-drivers',
  seeds: texts(
    '{"status":"Success","capabilities":{"attach":false,"fsGroup":true}}',
    '{"status":"Not supported"}',
    'vendor/driver',
  ),
  words: ['"status":', '"capabilities":', 'vendor/', '..', '~'],
  run(input) {
    const text = input.toString('utf8');
    if (isFlexDriverName(text)) {
      const path = flexExecutable('/d', text);
      holds(/^\/d\/[^/]+\/[^/]+$/.test(path), 'no name leads out of the directory of drivers');
    }
    const answer = flexAnswer({ kind: 'exited', exitCode: 0, stdout: text, stderr: '' });
    if (answer.kind === 'failure') holds(answer.message.length < 1200, 'what users see is short');
    if (answer.kind === 'success') flexCapabilities(answer.fields);
  },
};

const iscsiDisks: Target = {
  name: 'iscsi-disks',
  seeds: texts(
    '{"volumeName":"pv","targetPortal":"10.0.0.1","portals":["[fd00::1]:3260"],"iqn":"iqn.2001-04.com.example:a","lun":0,"givenInterface":"default"}',
    '{"volumeName":"pv","targetPortal":"fd00::1","iqn":"eui.02004567A425678D","lun":255,"givenInterface":"a","initiatorName":"iqn.2001-04.com.example:me"}',
  ),
  words: ['"iqn":', '"lun":', '-o', '--', '..', '/', ':3260', '['],
  run(input) {
    let value: unknown;
    try {
      value = JSON.parse(input.toString('utf8'));
    } catch {
      return;
    }
    const disk = reviveIscsiDisk(value);
    for (const word of [disk.iqn, disk.interfaceName, ...disk.portals]) {
      holds(!word.startsWith('-') && !/[\s/]/.test(word), 'a word is neither an option nor a path');
    }
    holds(iscsiGlobalName(disk).split('/').length === 2, 'no name leads out of the directory of disks');
    const again = reviveIscsiDisk(JSON.parse(JSON.stringify(disk)));
    holds(iscsiDeviceName(again) === iscsiDeviceName(disk), 'a note is read as it was written');
  },
};

export const nodeTargets: readonly Target[] = [
  drivers,
  flexDrivers,
  iscsiDisks,
  logLines,
  mountinfo,
  procFiles,
  cgroupFiles,
  kernelLog,
  podFiles,
  cpuSet,
  cpuCheckpoint,
  configFile,
  flags,
  kubeconfig,
  execCredential,
  credentialPlugins,
  credentialConfig,
  checkpoints,
  memoryCheckpoint,
  pem,
  certificates,
  requests,
  remoteStatus,
];
