/** What survives a power cut on a simulated disk: all that was synced, and of the rest what the test chooses. */
import { entriesOf, type FileNode } from './nodes.js';

export interface PowerCut {
  /** The fate of unsynced bytes; file systems differ, and each of these happens. */
  readonly unsyncedBytes: 'kept' | 'cut in half' | 'lost';
  /** Whether names made, moved or removed since their directory was last synced revert. */
  readonly unsyncedNames: 'kept' | 'undone';
}

export function losePower(root: FileNode, cut: PowerCut): void {
  const left = new Set<FileNode>([root]);
  const visit = (node: FileNode): void => {
    const { content } = node;
    if (content.kind === 'file') {
      if (!content.isSynced) content.data = content.data.slice(0, bytesLeft(content.data.length, cut));
      content.isSynced = true;
      return;
    }
    if (content.kind !== 'directory') return;
    const names = new Map(cut.unsyncedNames === 'kept' ? content.entries : content.synced);
    content.entries.clear();
    for (const [name, child] of names) {
      // Moved between two directories of which one was synced: it appears once.
      if (left.has(child)) continue;
      left.add(child);
      content.entries.set(name, child);
      child.parent = node;
      child.name = name;
      visit(child);
    }
    content.synced = new Map(content.entries);
  };
  visit(root);
}

/** Marks a whole tree as synced. */
export function syncAll(node: FileNode): void {
  if (node.content.kind === 'file') node.content.isSynced = true;
  if (node.content.kind !== 'directory') return;
  node.content.synced = new Map(node.content.entries);
  for (const child of entriesOf(node).values()) syncAll(child);
}

function bytesLeft(length: number, { unsyncedBytes }: PowerCut): number {
  switch (unsyncedBytes) {
    case 'kept':
      return length;
    case 'cut in half':
      return Math.floor(length / 2);
    case 'lost':
      return 0;
  }
}
