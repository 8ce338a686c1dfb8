// biome-ignore lint/correctness/noUnresolvedImports: the package names its files by a pattern, which the linter does not read
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
// biome-ignore lint/correctness/noUnresolvedImports: the package names its files by a pattern, which the linter does not read
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
// biome-ignore lint/correctness/noUnresolvedImports: the package names its files by a pattern, which the linter does not read
import { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { asMirrorError } from '../../core/model/errors.ts';
import { instant, toJson } from '../../core/model/schemas.ts';
import { OPERATIONS } from '../../features/operations.ts';
import { type AnyOperation, type AssistantBinding, inputOf, type OperationContext } from '../operations/operation.ts';

const INSTRUCTIONS = `Shows whether a clinic's calendars and CRM match its management system. Read-only: tools change no data, and
answers contain no patient data. Start with "problems"; "explain" shows why an appointment is not in a calendar, by the appointment's id in the clinic system.
"next" lists commands that the operator should run.`;

const READ_ONLY = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** Tool of an operation. */
interface Tool {
  operation: AnyOperation;
  binding: AssistantBinding<Record<string, unknown>, unknown>;
}

/** Serves standard input and output until the client closes the streams or the signal aborts. */
export async function serveMcp(context: OperationContext, version: string): Promise<void> {
  const server = createMcpServer(context, version);
  const ended = Promise.withResolvers<void>();
  server.onclose = () => ended.resolve();
  process.stdin.once('end', () => void server.close());
  context.signals.stop.addEventListener('abort', () => void server.close(), { once: true });
  await server.connect(new StdioServerTransport());
  await ended.promise;
}

/**
 * Creates a Model Context Protocol server with tools for read-only operations. A schema checks each answer.
 * @see https://modelcontextprotocol.io/specification/2025-06-18/server/tools
 */
export function createMcpServer(
  context: OperationContext,
  version: string,
  operations: Record<string, AnyOperation> = OPERATIONS as Record<string, AnyOperation>,
): Server {
  const tools = new Map(
    Object.values(operations).flatMap((operation) =>
      (operation.assistants ?? []).map((binding) => [binding.name, { operation, binding }] as const),
    ),
  );
  const server = new Server(
    { name: 'clinic-mirror', version },
    { instructions: INSTRUCTIONS, capabilities: { tools: {} } },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...tools.values()].map(descriptionOf) }));
  server.setRequestHandler(CallToolRequestSchema, ({ params: { name, arguments: typed = {} } }) => {
    const tool = tools.get(name);
    if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `There is no tool ${JSON.stringify(name)}`);
    return answerOf(tool, typed, context);
  });
  return server;
}

function descriptionOf({ operation: { input }, binding: { name, about, fixed = {}, output } }: Tool) {
  const hidden = new Set([...Object.keys(fixed), 'after', 'limit']);
  const shape = Object.fromEntries(Object.entries(input.shape).filter(([field]) => !hidden.has(field)));
  return {
    ...{ name, description: about, annotations: READ_ONLY },
    inputSchema: { ...z.toJSONSchema(z.strictObject(shape), { io: 'input' }), type: 'object' as const },
    outputSchema: {
      ...z.toJSONSchema(output, {
        override({ zodSchema, jsonSchema }) {
          if (zodSchema === instant) Object.assign(jsonSchema, { type: 'string', format: 'date-time' });
        },
      }),
      type: 'object' as const,
    },
  };
}

/** Returns an answer as data and as text, or an error message with its remedy. */
async function answerOf({ operation, binding }: Tool, typed: Record<string, unknown>, context: OperationContext) {
  try {
    const input = inputOf(operation, { ...typed, ...binding.fixed }, 'tools/list says what each tool takes');
    const result = await operation.run(input, context);
    const text = toJson(binding.output.parse(binding.of?.(result) ?? result), 0);
    return { structuredContent: JSON.parse(text), content: [{ type: 'text' as const, text }] };
  } catch (error) {
    const { message, code, remedy } = asMirrorError(error);
    const text = [`${message} (${code})`, ...(remedy === undefined ? [] : [remedy])].join('. To do: ');
    return { isError: true, content: [{ type: 'text' as const, text }] };
  }
}
