/** Gives memory of certain NUMA nodes to the containers of Guaranteed pods. */
export { type MachineMemory, type MemoryBlock, unusedMemory } from './machine-memory.js';
export { MemoryManager, type MemoryPolicy, memoryStateFile } from './memory-manager.js';
export { createMemoryManagerMetrics } from './metrics.js';
export type { BoundContainer } from './recover-assignments.js';
export { MemoryConfigError, readReservedMemory } from './reserved-memory.js';
