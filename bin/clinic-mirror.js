#!/usr/bin/env node
// Plain JavaScript, so that an older Node gets as far as starting the pinned one.
import { fileURLToPath } from 'node:url';
import { becomeNode, noSuitableNode, pinnedNode, runningNodeSuffices } from './pinned-node.js';

if (runningNodeSuffices()) {
  // Process 1 of a container is deaf to a signal that nobody handles, and loading takes a while. cli.ts listens once, later.
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(130);
    });
  }
  // Halves the time until a command does something. In a folder of ours, since whoever could write there could change what runs.
  // Imported here, since an older Node has no such function and would refuse the whole file.
  const { enableCompileCache } = await import('node:module');
  enableCompileCache(fileURLToPath(new URL('../.cache/compiled', import.meta.url)));
  await import('../src/cli.ts');
} else {
  const node = pinnedNode();
  if (node === undefined) {
    console.error(noSuitableNode());
    process.exit(1);
  }
  becomeNode(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)]);
}
