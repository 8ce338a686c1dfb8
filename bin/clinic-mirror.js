#!/usr/bin/env node
// JavaScript instead of TypeScript, so that an older Node can start the pinned Node.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { withDaemonMemory } from './daemon-memory.js';
import { becomeNode, noSuitableNode, pinnedNode, runningNodeSuffices } from './pinned-node.js';

if (runningNodeSuffices()) {
  withDaemonMemory(process.argv.slice(2));
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
  if (existsSync(new URL('../src/cli.ts', import.meta.url))) {
    await import('../src/cli.ts');
  } else {
    // Image and package have a bundle instead of the sources (tools/bundle.ts).
    const { nameSources } = await import('./source-maps.js');
    const bundle = new URL('../dist/', import.meta.url);
    nameSources(bundle.href);
    await import(new URL('cli.js', bundle).href);
  }
} else {
  const node = pinnedNode();
  if (node === undefined) {
    console.error(noSuitableNode());
    process.exit(1);
  }
  becomeNode(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)]);
}
