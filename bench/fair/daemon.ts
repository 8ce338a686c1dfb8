import '../as-daemon.ts';
import { once } from 'node:events';
import { createLogger } from '../../src/core/log/create-logger.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { startDaemon } from '../../src/main.ts';
import { loadConfiguration } from '../../src/settings/configuration-files.ts';
import { openApiPort } from './api-port.ts';
import { sinkConnectors as connectors } from './sink-connector.ts';

/** Runs a daemon in a separate process with sinks as targets: `node daemon.ts <directory>`. Prints a line when it runs. */
const dir = process.argv[2] ?? '';
const configuration = loadConfiguration({ dir, env: process.env, connectors, reminderChannels, mode: 'strict' });
const log = createLogger({ level: 'warn' });
const daemon = await startDaemon(configuration, log, new AbortController().signal, { connectors });
const api = await openApiPort(daemon.composition);
process.stdout.write(`api ${api.port}, runs\n`);
await once(process, 'SIGTERM');
await api.close(0);
await daemon.close();
