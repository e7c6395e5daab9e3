/** The entries about the node: its object and lease, certificates, cgroups and figures. */
import type { NoData } from './entry-data.js';

export interface NodeEntries {
  /** The node is registered, or cannot be yet: then without data. */
  'node.register': { created: boolean } | NoData;
  /** The existing Node object is put right. */
  'node.reconcile': NoData;
  /** The ids that pods with user namespaces may have. */
  'node.userns': NoData;
  /** The lease of the node was created or is renewed again, or is not renewed. */
  'node.lease': { renewed: boolean };
  /** The status of the node was reported, or could not be. */
  'node.status': NoData;
  /** The pod range that the runtime was told of, or did not take. */
  'node.podCIDR': { from: string; to: string };
  /** An address of --node-ip cannot be used. */
  'node.ip': NoData;
  /** The machine cannot be read. */
  'node.machine': NoData;
  /** OOM kills will not be reported as events. */
  'node.oom': NoData;
  /** A setting of the kernel was changed, or could not be. */
  'node.kernel': { name: string; from: number; to: number };
  /** A socket for programs of the machine cannot be served. */
  'node.socket': NoData;
  /** The packet rules of the node were written, or may be missing. */
  'node.packet-rules': NoData;
  /** Whether a shutdown of the machine waits for pods, and what goes wrong with it. */
  'node.shutdown': NoData;
  /** The machine shuts down, and the pods of a group are killed or have ended; `left` of them have not. */
  'node.shutdown-group': { priority: number; periodSeconds: number; left: number };
  /** The machine shuts down, and a pod is killed, or did not end as it should. */
  'node.shutdown-pod': { graceSeconds: number };

  /** A certificate is asked for, or was not issued. */
  'certificate.request': NoData;
  /** A certificate is stored, or cannot be used; `notAfterMs` is the end of a new one. */
  'certificate.store': { failures?: number; notAfterMs?: number } | NoData;
  /** The bootstrap kubeconfig is used, or the API server is not healthy. */
  'certificate.bootstrap': NoData;
  /** The client certificate has changed, or cannot be used. */
  'certificate.client': NoData;
  /** The serving certificate was written or read again, or cannot be used. */
  'certificate.serving': NoData;
  /** A connection to the API has a problem. */
  'api.connection': NoData;

  /** Which cgroup driver is used. */
  'cgroup.driver': NoData;
  /** All pods together were limited, or could not be yet: then without data. */
  'cgroup.enforce': { milliCpu: number; memoryBytes: number; pids: number } | NoData;
  /** Processes were moved to a cgroup, or could not be: then without data. */
  'cgroup.process': { from: string; to: string; processes: number } | NoData;
  /** systemd did not stop a unit as it should. */
  'cgroup.unit': { unit: string };
  /** The cgroups of all pods could not be kept. */
  'cgroup.keep': NoData;
  /** The limits of a pod could not be written. */
  'cgroup.write': NoData;
  /** The cgroup of a pod that is gone could not be removed. */
  'cgroup.destroy': { podUid: string };

  /** A container, or the pod as a whole, was given CPUs of its own; `shared` is the pool of all others then. */
  'cpu.allocate': { cpus: string; shared: string };
  /** CPUs of a container went back to the shared pool. */
  'cpu.release': { cpus: string; shared: string };
  /** A running container was bound to other CPUs, or could not be. */
  'cpu.update': { containerId: string; cpus: string };
  /** The CPU manager's state was made anew, as the file could not be used; counts of containers. */
  'cpu.recover': { kept: number; lost: number; movedTo?: string };
  /** Containers were not bound to their CPUs. */
  'cpu.reconcile': NoData;

  /** A threshold of eviction is met, or is not any more; the amounts are bytes, inodes or processes. */
  'eviction.threshold': { signal: string; met: boolean; available?: number; threshold?: number };
  /** How the disks are divided between images, containers and pods, as eviction sees them. */
  'eviction.layout': { dedicated: boolean; split: boolean };
  /** The node freed what it could without ending a pod; `relieved` says whether that was enough. */
  'eviction.reclaim': { signal: string; relieved: boolean };
  /** Signals that have thresholds and cannot be read now, with commas between them: these are never met. */
  'eviction.signals': { unread: string };
  /** Part of what the node can free by itself could not be freed. */
  'eviction.free': { what: 'containers' | 'images' };
  /** The order in which pods have to go; `first` is evicted, absent where none may be. */
  'eviction.rank': { signal: string; candidates: number; first?: string };
  /** A pass of eviction could not be made, or can be again. */
  'eviction.pass': NoData;

  /** A plugin was registered, or was not: then perhaps without its type and name, as nobody knows them. */
  'plugin.register': { socket: string; registered: boolean; type?: string; name?: string };
  /** A plugin has gone, or could not be removed as a whole. */
  'plugin.deregister': { socket: string; type: string; name: string };
  /** Part of the directory of plugins is not looked at, or is again; or it did not get its SELinux label. */
  'plugin.directory': NoData;

  /** The cluster cannot be told of this node's CSI drivers. */
  'csi.node': NoData;

  /** A CSI driver does not tell of the health of its volumes or its storage. */
  'csi.health': NoData;

  /** A device plugin is connected, was refused, or has gone. */
  'device.plugin': { resource: string; socket: string; connected: boolean };
  /** A device plugin told how many devices there are. */
  'device.report': { resource: string; healthy: number; unhealthy: number };
  /** A container was given devices; the ids have commas between them. */
  'device.allocate': { resource: string; ids: string };
  /** Devices of a pod that is no longer active can be given out again. */
  'device.release': { resource: string; ids: string };
  /** The file that says who holds which devices could not be used. */
  'device.recover': NoData;

  /** A driver of dynamic resources can be called, or cannot. */
  'dra.driver': { driver: string; usable: boolean };
  /** The ResourceSlices of a driver, or of the node for an empty name, were deleted, or could not be. */
  'dra.slices': { driver: string };
  /** A driver prepared claims of a pod. */
  'dra.prepare': { driver: string; claims: string };
  /** A driver unprepared claims of a pod, or could not. */
  'dra.unprepare': { driver: string; claims: string };
  /** The file of claims could not be used; so many claims could be read from it all the same. */
  'dra.recover': { kept: number; problem: string };
  /** The health of a driver's devices is not known. */
  'dra.health': { driver: string };

  /** The memory manager's file could not be used; blocks of so many pods were kept or given back. */
  'memory.recover': { problem: string; kept: number; givenBack: number };
  /** A running container was bound to other NUMA nodes, or could not be. */
  'memory.update': { containerId: string; mems: string };
  /** Containers were not set free from NUMA nodes. */
  'memory.reconcile': NoData;

  /** The runtime measures pods as a whole, or does not. */
  'stats.pods': { fault?: string } | NoData;
  /** A volume could not be measured, or takes long. */
  'stats.volume': NoData;
}
