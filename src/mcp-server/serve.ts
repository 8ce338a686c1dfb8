// biome-ignore lint/correctness/noUnresolvedImports: the package names its files by a pattern, which the linter does not read
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { Installation } from '../control/installation.ts';
import { createMcpServer } from './server.ts';

/** Answers over standard input and output until the other side closes them, or the signal comes. */
export async function serveMcp(installation: Installation, version: string, signal: AbortSignal): Promise<void> {
  const server = createMcpServer(installation, version, signal);
  const ended = Promise.withResolvers<void>();
  server.server.onclose = () => ended.resolve();
  process.stdin.once('end', () => void server.close());
  signal.addEventListener('abort', () => void server.close(), { once: true });
  await server.connect(new StdioServerTransport());
  await ended.promise;
}
