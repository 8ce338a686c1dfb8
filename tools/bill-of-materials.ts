// npm run sbom: what the image is made of, as CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/), the same bytes each time (docs/releasing.md).
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { baseImage } from './image-files.ts';
import { type LockedPackage, lockedPackages } from './lock-file.ts';

/** One thing that the image is made of. */
export interface Component {
  type: 'library' | 'application' | 'container';
  'bom-ref': string;
  name: string;
  version: string;
  purl: string;
  hashes?: { alg: 'SHA-512' | 'SHA-256'; content: string }[];
  licenses?: { expression: string }[];
}

/** The document, with only the members used here. */
export interface BillOfMaterials {
  $schema: string;
  bomFormat: 'CycloneDX';
  specVersion: '1.6';
  version: 1;
  metadata: { component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

/** Licences that authors stated before SPDX had an identifier, by package name, taken from the package's file LICENSE. */
export const TOLD_LICENSES: Readonly<Record<string, string>> = {
  'url-template': 'BSD-3-Clause',
  busboy: 'MIT',
  streamsearch: 'MIT',
  format: 'MIT',
};

/** Returns a package's licence as an SPDX expression; null if neither the package nor {@link TOLD_LICENSES} contains one. */
export function licenseOf({ name, license }: Pick<LockedPackage, 'name' | 'license'>): string | null {
  return TOLD_LICENSES[name] ?? license;
}

/**
 * Lists the image's packages, from the lock file, and its base image, whose digest determines Node and the packages of Debian. Omits time
 * and serial number, so that anyone can recreate the document and compare.
 */
export function billOfMaterials(root: string): BillOfMaterials {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
  const packages = lockedPackages(root).filter(({ isInImage }) => isInImage);
  const project = {
    type: 'application' as const,
    ...{ 'bom-ref': purlOf(manifest), name: manifest.name, version: manifest.version, purl: purlOf(manifest) },
  };
  const base = baseComponent(root);
  const nodes = [{ ...manifest, path: '' }, ...packages];
  const dependencies = new Map(nodes.map((node) => [purlOf(node), new Set<string>()]));
  for (const node of nodes) {
    for (const name of Object.keys(node.dependencies)) {
      const found = resolved(packages, node.path, name);
      if (found !== null) dependencies.get(purlOf(node))?.add(purlOf(found));
    }
  }
  dependencies.get(project.purl)?.add(base.purl);
  // Several folders may contain one version.
  const components = new Map([base, ...packages.map(componentOf)].map((each) => [each.purl, each]));
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    ...{ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, metadata: { component: project } },
    components: [...components.values()],
    dependencies: [...dependencies].map(([ref, needed]) => ({ ref, dependsOn: [...needed].toSorted() })),
  };
}

interface Manifest {
  name: string;
  version: string;
  dependencies: Record<string, string>;
}

/** Resolves a package like Node: from the dependent package's folder upwards. */
function resolved(packages: readonly LockedPackage[], from: string, name: string): LockedPackage | null {
  for (let folder = from; ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name);
    const found = packages.find((each) => each.path === path);
    if (found !== undefined) return found;
    if (folder === '' || folder === '.') return null;
  }
}

/** @see https://github.com/package-url/purl-spec/blob/main/types-doc/npm-definition.md */
function purlOf({ name, version }: { name: string; version: string }): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

function componentOf(locked: LockedPackage): Component {
  const { name, version, integrity } = locked;
  const purl = purlOf(locked);
  const license = licenseOf(locked);
  const [, sum] = /^sha512-(.+)$/.exec(integrity ?? '') ?? [];
  return {
    ...{ type: 'library', 'bom-ref': purl, name, version, purl },
    ...(sum === undefined
      ? {}
      : { hashes: [{ alg: 'SHA-512' as const, content: Buffer.from(sum, 'base64').toString('hex') }] }),
    ...(license === null ? {} : { licenses: [{ expression: license }] }),
  };
}

function baseComponent(root: string): Component {
  const { name, tag, digest } = baseImage(root);
  const purl = `pkg:docker/${name}@${encodeURIComponent(digest)}?tag=${tag}`;
  const content = digest.slice('sha256:'.length);
  return { type: 'container', 'bom-ref': purl, name, version: tag, purl, hashes: [{ alg: 'SHA-256', content }] };
}

if (import.meta.main) console.log(JSON.stringify(billOfMaterials(join(import.meta.dirname, '..')), null, 2));
