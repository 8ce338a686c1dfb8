#!/usr/bin/env node
// Requests /healthz of the daemon in this container. The mounted configuration contains the port.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const TIMEOUT_MS = 4_000;
/** Default of `operator.port`. */
const DEFAULT_PORT = 8_090;
const EVERY_ADDRESS = new Set(['0.0.0.0', '::', undefined]);

const settings = parse(readFileSync(join(process.env.CLINIC_MIRROR_CONFIG ?? 'config', 'clinic-mirror.yaml'), 'utf8'));
const { operator } = settings;
const host = EVERY_ADDRESS.has(operator?.host) ? '127.0.0.1' : operator.host;
try {
  const url = `http://${host}:${operator?.port ?? DEFAULT_PORT}/healthz`;
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  console.log(`healthz answered ${response.status}`);
  process.exitCode = response.ok ? 0 : 1;
} catch (error) {
  console.log(`healthz did not answer (${error.cause?.code ?? error.name})`);
  process.exitCode = 1;
}
