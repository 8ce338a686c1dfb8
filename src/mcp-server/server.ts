// biome-ignore lint/correctness/noUnresolvedImports: the package names its files by a pattern, which the linter does not read
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { z } from 'zod';
import type { Installation } from '../control/installation.ts';
import { openStatuses } from '../control/statuses.ts';
import { asMirrorError } from '../model/errors.ts';
import { tellExplain, tellHealth, tellHolds, tellProblems, tellRuns, tellStatus } from './answers.ts';
import * as schemas from './schemas.ts';

const INSTRUCTIONS = `Tells where a clinic's calendars and CRM stand against its management system. Read-only: nothing here changes
anything, and no answer holds data of patients. Begin with "problems"; "explain" answers why an appointment is not in a calendar, by its id in the clinic system.
What a person is to do stands in "next": commands of the command line, to be given by them.`;

/**
 * A server of the Model Context Protocol with tools that look, and none that changes anything. Each answer is checked by a schema.
 * @see https://modelcontextprotocol.io/specification/2025-06-18/server/tools
 */
export function createMcpServer(installation: Installation, version: string, signal: AbortSignal): McpServer {
  const statuses = openStatuses();
  const server = new McpServer({ name: 'clinic-mirror', version }, { instructions: INSTRUCTIONS });
  const add = <Input extends z.ZodRawShape, Output extends z.ZodRawShape>(
    name: string,
    description: string,
    inputSchema: Input,
    outputSchema: Output,
    tell: (asked: z.output<z.ZodObject<Input>>) => Promise<z.input<z.ZodObject<Output>>>,
  ) => {
    const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
    // The library asks of a callback what depends on the schemas; these two are one.
    const answer = async (asked: unknown) => answered(() => tell(asked as z.output<z.ZodObject<Input>>));
    server.registerTool(name, { description, inputSchema, outputSchema, annotations }, answer as never);
  };
  add(
    'status',
    'Per clinic and target: in step as of when, can it go on, what waits',
    schemas.oneTenant,
    schemas.status,
    ({ tenant }) => tellStatus({ installation, statuses }, tenant),
  );
  add(
    'problems',
    'What is the matter or will be, who ends it, and the next action',
    schemas.oneTenant,
    schemas.problems,
    ({ tenant }) => tellProblems({ installation, statuses }, tenant),
  );
  add(
    'explain',
    'Why an appointment is, or is not, in each target, by its id in the clinic system',
    schemas.explainInput,
    schemas.explain,
    ({ tenant, appointment }) => tellExplain(installation, tenant, appointment, signal),
  );
  add(
    'holds',
    'Removals and other changes that are held until a person decides',
    schemas.oneTenant,
    schemas.holds,
    ({ tenant }) => tellHolds(installation, tenant),
  );
  add(
    'health',
    'Per target: how many records are in sync, left out and why, failing and why; reads the clinic',
    schemas.healthInput,
    schemas.health,
    ({ tenant, target }) => tellHealth(installation, tenant, target, signal),
  );
  add('runs', 'Runs that changed or deleted something, newest first', schemas.oneTenant, schemas.runs, ({ tenant }) =>
    tellRuns(installation, tenant),
  );
  return server;
}

/** An answer as data and as text of it; an error as its sentence with what to do. */
async function answered(tell: () => Promise<object>) {
  try {
    const structuredContent = (await tell()) as Record<string, unknown>;
    return { structuredContent, content: [{ type: 'text' as const, text: JSON.stringify(structuredContent) }] };
  } catch (error) {
    const { message, code, remedy } = asMirrorError(error);
    const text = [`${message} (${code})`, ...(remedy === undefined ? [] : [remedy])].join('. To do: ');
    return { isError: true, content: [{ type: 'text' as const, text }] };
  }
}
