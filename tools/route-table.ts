import { z } from 'zod';

/** Members of an OpenAPI document that the table uses. */
const described = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({ summary: z.string(), 'x-level': z.string(), responses: z.record(z.string(), z.unknown()) }),
    ),
  ),
});

/** The routes of an OpenAPI document as a Markdown table; those that may answer a task are marked. */
export function renderRoutes(document: object): string {
  const { paths } = described.parse(document);
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { summary, 'x-level': level, responses }]) => {
      const route = `\`${method.toUpperCase()} ${path.replace(/^\/api\/v1/, '')}\``;
      return `| ${route} | ${level} | ${summary}${'202' in responses ? ' (may answer a task)' : ''} |`;
    }),
  );
  return ['| route | level | what it does |', '|---|---|---|', ...rows].join('\n');
}
