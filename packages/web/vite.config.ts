import { fileURLToPath } from 'node:url';
import type { Operation, Success } from '@holdfast/contract';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/**
 * The dashboard calls operations and is typed by their schemas, but checks nothing by them: what a call needs is a table of a few
 * kilobytes, the schemas and their library are a third of the first load.
 */
const operationsAsTable: Plugin = {
  name: 'operations-as-table',
  enforce: 'pre',
  async load(id) {
    if (!id.endsWith('/packages/contract/operations/index.ts')) return;
    const { operations } = await import('@holdfast/contract');
    const table = Object.entries(operations).map(([id, operation]) => [id, callOf(operation)]);
    return `export const operations = ${JSON.stringify(Object.fromEntries(table))};
export const allOperations = Object.values(operations);`;
  },
};

/** What the client reads of an operation. */
function callOf({ id, method, path, access, success, alternatives, idempotencyKey, restParameter }: Operation) {
  const answerOf = ({ kind, status, ...more }: Success) => ({
    kind,
    status,
    ...('contentTypes' in more && { contentTypes: more.contentTypes }),
  });
  return {
    ...{ id, method, path, idempotencyKey, restParameter },
    access: { kind: access.kind },
    success: answerOf(success),
    alternatives: alternatives?.map(answerOf),
  };
}

/** What many pages use and what is small: together it is a few kilobytes more for the first page, and nothing for the next. */
const smallParts = {
  name: 'parts',
  test: /[\\/]web[\\/]app[\\/](components|format|texts|api|shell)[\\/]|[\\/]lucide-react[\\/]/,
  minShareCount: 3,
  maxModuleSize: 8000,
};

/** Everything is a file of our own origin: nothing is inlined into the page, so that the policy needs no exception. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/',
  plugins: [operationsAsTable, react(), tailwind()],
  // For work on the pages alone: `npx vite packages/web` beside a running service.
  server: { proxy: { '/api': { target: 'http://127.0.0.1:8787' } } },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    manifest: true,
    modulePreload: { polyfill: false },
    target: 'es2023',
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2000,
    rolldownOptions: {
      treeshake: { manualPureFunctions: ['z'] },
      // Else each icon is a file of its own, and a page is some sixty files that the browser asks for one by one.
      output: { codeSplitting: { groups: [smallParts] } },
    },
  },
});
