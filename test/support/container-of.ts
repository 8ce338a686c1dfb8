import type { Connector } from '../../src/connectors/connector.ts';

/** Prepares a target, and creates a missing calendar. @returns the container */
export async function containerOf(
  connector: Pick<Connector, 'prepare'>,
  storedId: string | null,
  signal: AbortSignal,
): Promise<string> {
  const container = await connector.prepare(storedId, { creates: true }, signal);
  if (container === null) throw new TypeError('a connector that may create a calendar returned none');
  return container;
}
