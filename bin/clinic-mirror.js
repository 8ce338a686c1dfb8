#!/usr/bin/env node
// JavaScript instead of TypeScript, so that an older Node can start the pinned Node.
import { fileURLToPath } from 'node:url';
import { becomeNode, noSuitableNode, pinnedNode, runningNodeSuffices } from './pinned-node.js';

if (runningNodeSuffices()) {
  // Process 1 of a container ignores signals without a handler. cli.ts installs its handlers after loading.
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(130);
    });
  }
  // Halves the start time. The cache stays in the project folder, because write access to the cache permits code execution.
  // A dynamic import, because a static import of a missing function fails in an older Node.
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
