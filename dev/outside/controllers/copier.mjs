// Copies every input ConfigMap with the official Node client's informer.

import * as k8s from '@kubernetes/client-node';

const namespace = 'work';
const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const labelSelector = 'role=input';
const list = async () => {
  const found = await core.listNamespacedConfigMap({ namespace, labelSelector });
  console.log(`listed ${found.items.length}`);
  return found;
};
const informer = k8s.makeInformer(
  config,
  `/api/v1/namespaces/${namespace}/configmaps`,
  list,
  labelSelector,
);

async function copy(source) {
  const name = `node-${source.metadata.name}`;
  const body = { metadata: { name, labels: { role: 'node' } }, data: source.data };
  for (;;) {
    try {
      await core.createNamespacedConfigMap({ namespace, body });
      return;
    } catch (problem) {
      if (problem.code === 409) {
        try {
          await core.replaceNamespacedConfigMap({ name, namespace, body });
          return;
        } catch (again) {
          console.log(`away ${again.code ?? again.message}`);
        }
      } else {
        console.log(`away ${problem.code ?? problem.message}`);
      }
    }
    await new Promise((done) => setTimeout(done, 500));
  }
}

// One copy of an object at a time, and always its newest state.
const busy = new Map();
function wake(source) {
  const name = source.metadata.name;
  if (busy.has(name)) {
    busy.set(name, source);
    return;
  }
  busy.set(name, null);
  copy(source).finally(() => {
    const next = busy.get(name);
    busy.delete(name);
    if (next) wake(next);
  });
}

informer.on('add', wake);
informer.on('update', wake);
informer.on('connect', () => console.log('watching'));
informer.on('error', (problem) => {
  console.log(`away ${problem?.message ?? problem}`);
  setTimeout(() => informer.start().catch(() => {}), 500);
});
const start = () => informer.start().catch(() => setTimeout(start, 500));
start();
