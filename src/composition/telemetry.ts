import manifest from '../../package.json' with { type: 'json' };
import { createHttpClient } from '../http/client.ts';
import type { Logger } from '../log/logger.ts';
import type { Settings } from '../settings/settings-schema.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

/** Opens what sends traces and log lines; null where no collector is configured, and nothing of it is loaded. @param log asked for when it has something to say */
export async function startTelemetry({ telemetry }: Settings, log: () => Logger): Promise<Telemetry | null> {
  if (telemetry === undefined) return null;
  const { openTelemetry } = await import('../telemetry/telemetry.ts');
  const http = createHttpClient({ userAgent: 'clinic-mirror', clock: Date.now });
  return openTelemetry(telemetry, { http, version: manifest.version, log });
}
