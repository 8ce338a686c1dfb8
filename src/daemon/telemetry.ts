import manifest from '../../package.json' with { type: 'json' };
import { createHttpClient } from '../core/http/client.ts';
import type { Logger } from '../core/log/logger.ts';
import type { Telemetry } from '../core/telemetry/telemetry.ts';
import type { Settings } from '../settings/settings-schema.ts';

/** Starts the export of traces and logs. Null without a collector, and then no library is loaded. @param log called at the first message */
export async function startTelemetry({ telemetry }: Settings, log: () => Logger): Promise<Telemetry | null> {
  if (telemetry === undefined) return null;
  const { openTelemetry } = await import('../core/telemetry/telemetry.ts');
  const http = createHttpClient({ userAgent: 'clinic-mirror', clock: Date.now });
  return openTelemetry(telemetry, { http, version: manifest.version, log });
}
