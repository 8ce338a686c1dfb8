import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';

/** A manifest, as far as the tests look into it. */
export interface Manifest {
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  spec?: Record<string, unknown>;
  /** Of config maps and secrets: contents by key. */
  data?: Record<string, string>;
}

const generator = z.array(
  z.strictObject({
    name: z.string(),
    files: z.array(z.string()),
    options: z.strictObject({ disableNameSuffixHash: z.literal(true) }).optional(),
  }),
);
const kustomization = z.strictObject({
  apiVersion: z.string(),
  kind: z.enum(['Kustomization', 'Component']),
  namespace: z.string().optional(),
  labels: z.array(z.unknown()).optional(),
  resources: z.array(z.string()),
  images: z.array(z.unknown()).optional(),
  configMapGenerator: generator.default([]),
  secretGenerator: generator.default([]),
  patches: z.array(z.strictObject({ target: z.strictObject({ kind: z.string() }), patch: z.string() })).default([]),
});
const operations = z.array(z.strictObject({ op: z.literal('add'), path: z.string(), value: z.unknown() }));

/**
 * Renders the part of kustomize that our manifests use (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/), and refuses the
 * rest. Names get no suffix, as whatever refers to them gets the same one.
 * @throws Error for a file that is missing, or a patch that fits nothing
 */
export function renderKustomization(folder: string): Manifest[] {
  const read = (path: string) => readFileSync(join(folder, path), 'utf8');
  const written = kustomization.parse(parse(read('kustomization.yaml')));
  const generated = (kind: string, from: z.infer<typeof generator>): Manifest[] =>
    from.map(({ name, files }) => ({
      ...{ kind, metadata: { name } },
      data: Object.fromEntries(files.map((path) => [basename(path), read(path)])),
    }));
  const manifests = [
    ...written.resources.flatMap((path) => manifestsIn(read(path))),
    ...generated('ConfigMap', written.configMapGenerator),
    ...generated('Secret', written.secretGenerator),
  ];
  for (const { target, patch } of written.patches) {
    const patched = manifests.filter(({ kind }) => kind === target.kind);
    if (patched.length === 0) throw new Error(`a patch is for ${target.kind}, and there is none`);
    for (const manifest of patched) for (const one of operations.parse(parse(patch, YAML_1_1))) add(manifest, one);
  }
  return manifests;
}

/** Numbers such as 0440 are octal for Kubernetes. */
const YAML_1_1 = { version: '1.1' } as const;

/** The manifests of one file. */
function manifestsIn(text: string): Manifest[] {
  return parseAllDocuments(text, YAML_1_1).map((document) => document.toJS() as Manifest);
}

/** RFC 6902 section 4.1, at the end of a list. */
function add(manifest: Manifest, { path, value }: { path: string; value?: unknown }): void {
  const names = path.split('/').slice(1);
  if (names.pop() !== '-') throw new Error(`only the end of a list can be added to: ${path}`);
  const list = names.reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], manifest);
  if (!Array.isArray(list)) throw new Error(`there is no list ${path}`);
  list.push(structuredClone(value));
}

const podSpec = z.object({
  containers: z.tuple([
    z.object({
      volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string(), subPath: z.string().optional() })),
    }),
  ]),
  volumes: z.array(
    z.object({
      name: z.string(),
      configMap: z.object({ name: z.string() }).optional(),
      secret: z.object({ secretName: z.string(), defaultMode: z.number() }).optional(),
      persistentVolumeClaim: z.object({ claimName: z.string() }).optional(),
    }),
  ),
});

/**
 * Writes what the pods of a deployment see, below a folder: as kubelet does it, files of a config map or secret are links to a folder that is
 * exchanged as a whole (https://kubernetes.io/docs/concepts/storage/volumes/#configmap).
 */
export function writePodFiles(manifests: readonly Manifest[], deployment: string, root: string): void {
  const found = manifests.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === deployment);
  if (found === undefined) throw new Error(`there is no deployment ${deployment}`);
  const { template } = found.spec as { template: { spec: unknown } };
  const { containers, volumes } = podSpec.parse(template.spec);
  for (const { name, mountPath, subPath } of containers[0].volumeMounts) {
    const volume = volumes.find((one) => one.name === name);
    const place = join(root, mountPath);
    const data = dataOf(manifests, volume);
    if (data === null) mkdirSync(place, { recursive: true });
    else if (subPath !== undefined) writeMounted(place, data[subPath] ?? '', volume?.secret?.defaultMode);
    else writeExchanged(place, data, volume?.secret?.defaultMode);
  }
}

/** @returns null for a volume that holds what is written into it */
function dataOf(
  manifests: readonly Manifest[],
  volume: z.infer<typeof podSpec>['volumes'][number] | undefined,
): Record<string, string> | null {
  if (volume?.persistentVolumeClaim !== undefined) return null;
  const [kind, name] = volume?.secret ? ['Secret', volume.secret.secretName] : ['ConfigMap', volume?.configMap?.name];
  const source = manifests.find((one) => one.kind === kind && one.metadata.name === name);
  if (source?.data === undefined) throw new Error(`there is no ${kind} ${name}`);
  return source.data;
}

function writeExchanged(place: string, data: Record<string, string>, mode?: number): void {
  const folder = '..2026_05_13_09_30_00.1';
  mkdirSync(join(place, folder), { recursive: true });
  for (const [key, content] of Object.entries(data)) {
    writeMounted(join(place, folder, key), content, mode);
    symlinkSync(join('..data', key), join(place, key));
  }
  symlinkSync(folder, join(place, '..data'));
}

function writeMounted(file: string, content: string, mode = 0o644): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content, { mode });
}
