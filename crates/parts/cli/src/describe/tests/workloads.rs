//! What runs: pods, and what keeps them running.

use insta::assert_snapshot;

use super::page;

#[test]
fn a_deployment_shows_its_template_and_its_replica_sets() {
    assert_snapshot!(page("deployment"), @r#"
    Name:                   web
    Namespace:              shop
    CreationTimestamp:      Wed, 31 Dec 2025 20:00:00 +0000
    Labels:                 app=web
                            tier=front
    Annotations:            deployment.kubernetes.io/revision: 2
                            long:
                              xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...
                            two:
                              lines
                              of text
    Selector:               app=web,!old,tier in (a,b)
    Replicas:               3 desired | 2 updated | 3 total | 2 available | 1 unavailable
    StrategyType:           RollingUpdate
    MinReadySeconds:        5
    RollingUpdateStrategy:  25% max unavailable, 1 max surge
    Pod Template:
      Labels:           app=web
                        tier=a
      Annotations:      made: by-hand
      Service Account:  web
      Init Containers:
       prepare:
        Image:      busybox:1
        Port:       <none>
        Host Port:  <none>
        Command:
          sh
          -c
          echo one
          echo two
        Args:
          --fast
        Environment:  <none>
        Mounts:       <none>
      Containers:
       web:
        Image:       nginx:1.27
        Ports:       80/TCP, 443/TCP
        Host Ports:  0/TCP, 8443/TCP
        Limits:
          cpu:     1
          memory:  256Mi
        Requests:
          cpu:      100m
          memory:   128Mi
        Liveness:   http-get http://:80/healthz delay=3s timeout=1s period=10s #success=1 #failure=3
        Readiness:  exec [cat /tmp/ready] delay=0s timeout=1s period=5s #success=1 #failure=3
        Startup:    tcp-socket :http delay=0s timeout=1s period=10s #success=1 #failure=30
        Environment Variables from:
          settings  ConfigMap                Optional: false
          hidden    Secret with prefix 'S_'  Optional: true
        Environment:
          MODE:    fast
                   and loose
          NODE:     (v1:spec.nodeName)
          CPUS:    1 (limits.cpu)
          TOKEN:   <set to the key 'token' in secret 'hidden'>         Optional: false
          COLOUR:  <set to the key 'colour' of config map 'settings'>  Optional: true
        Mounts:
          /data from data (rw,path="web")
          /etc/settings from settings (ro)
       aside:
        Image:        busybox:1
        Port:         <none>
        Host Port:    <none>
        Environment:  <none>
        Mounts:       <none>
      Volumes:
       data:
        Type:       PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)
        ClaimName:  data
        ReadOnly:   false
       settings:
        Type:      ConfigMap (a volume populated by a ConfigMap)
        Name:      settings
        Optional:  false
       hidden:
        Type:        Secret (a volume populated by a Secret)
        SecretName:  hidden
        Optional:    true
       scratch:
        Type:       EmptyDir (a temporary directory that shares a pod's lifetime)
        Medium:     Memory
        SizeLimit:  64Mi
       room:
        Type:       EmptyDir (a temporary directory that shares a pod's lifetime)
        Medium:
        SizeLimit:  <unset>
       host:
        Type:          HostPath (bare host directory volume)
        Path:          /var/log
        HostPathType:  Directory
       share:
        Type:      NFS (an NFS mount that lasts the lifetime of a pod)
        Server:    files
        Path:      /all
        ReadOnly:  false
       about:
        Type:  DownwardAPI (a volume populated by information about the pod)
        Items:
          metadata.labels -> labels
       mixed:
        Type:                    Projected (a volume that contains injected data from multiple sources)
        TokenExpirationSeconds:  3607
        ConfigMapName:           kube-root-ca.crt
        ConfigMapOptional:       <nil>
        SecretName:              hidden
        SecretOptionalName:      <nil>
        DownwardAPI:             true
       driver:
        Type:                       CSI (a Container Storage Interface (CSI) volume source)
        Driver:                     files.csi.k8s.io
        FSType:
        ReadOnly:                   true
        VolumeAttributes:               kind=fast
                                        size=big
      Topology Spread Constraints:  zone:DoNotSchedule when max skew 1 is exceeded for selector app=web
      Priority Class Name:          high
      Node-Selectors:               disk=ssd
                                    zone=a
      Tolerations:                  a=x:NoExecute for 300s
                                    b:NoSchedule op=Exists
    Conditions:
      Type           Status  Reason
      ----           ------  ------
      Available      True    MinimumReplicasAvailable
      Progressing    True    ReplicaSetUpdated
    OldReplicaSets:  web-older (0/0 replicas created), web-old (1/1 replicas created)
    NewReplicaSet:   web-new (2/2 replicas created)
    Events:
      Type     Reason   Age                From              Message
      ----     ------   ----               ----              -------
      Warning  Late     10m                other-controller  it is late
      Normal   Started  60s (x7 over 60m)  some-controller   it began
    "#);
}

#[test]
fn a_replica_set_counts_its_pods() {
    assert_snapshot!(page("replicaset"), @"
    Name:           web
    Namespace:      shop
    Selector:       app=web
    Labels:         app=web
    Annotations:    <none>
    Controlled By:  Deployment/shop-web
    Replicas:       2 current / 3 desired
    Pods Status:    1 Running / 1 Waiting / 0 Succeeded / 0 Failed
    Pod Template:
      Labels:  app=web
      Containers:
       web:
        Image:         nginx
        Port:          <none>
        Host Port:     <none>
        Environment:   <none>
        Mounts:        <none>
      Volumes:         <none>
      Node-Selectors:  <none>
      Tolerations:     <none>
    Conditions:
      Type             Status  Reason
      ----             ------  ------
      ReplicaFailure   True    FailedCreate
    Events:            <none>
    ");
}

#[test]
fn a_stateful_set_shows_what_it_claims() {
    assert_snapshot!(page("statefulset"), @"
    Name:               web
    Namespace:          shop
    CreationTimestamp:  Wed, 31 Dec 2025 20:00:00 +0000
    Selector:           app=web
    Labels:             <none>
    Annotations:        <none>
    Replicas:           2 desired | 2 total
    Update Strategy:    RollingUpdate
      Partition:        1
    Pods Status:        1 Running / 0 Waiting / 0 Succeeded / 1 Failed
    Pod Template:
      Labels:  app=web
      Containers:
       web:
        Image:         nginx
        Port:          <none>
        Host Port:     <none>
        Environment:   <none>
        Mounts:        <none>
      Volumes:         <none>
      Node-Selectors:  <none>
      Tolerations:     <none>
    Volume Claims:
      Name:          data
      StorageClass:  fast
      Labels:        a=b
      Annotations:   <none>
      Capacity:      1Gi
      Access Modes:  [ReadWriteOnce ReadOnlyMany]
      Name:          other
      StorageClass:
      Labels:        <none>
      Annotations:   c=d
                     e=f
      Capacity:      <default>
      Access Modes:  []
    Events:          <none>
    ");
}

#[test]
fn a_daemon_set_counts_nodes() {
    assert_snapshot!(page("daemonset"), @"
    Name:           web
    Namespace:      shop
    Selector:       app=web
    Node-Selector:  disk=ssd
    Labels:         app=web
    Annotations:    <none>
    Desired Number of Nodes Scheduled: 3
    Current Number of Nodes Scheduled: 2
    Number of Nodes Scheduled with Up-to-date Pods: 2
    Number of Nodes Scheduled with Available Pods: 1
    Number of Nodes Misscheduled: 0
    Pods Status:  1 Running / 0 Waiting / 1 Succeeded / 0 Failed
    Pod Template:
      Labels:  app=web
      Containers:
       web:
        Image:         nginx
        Port:          <none>
        Host Port:     <none>
        Environment:   <none>
        Mounts:        <none>
      Volumes:         <none>
      Node-Selectors:  disk=ssd
      Tolerations:     <none>
    Events:            <none>
    ");
}

#[test]
fn a_pod_shows_its_containers_as_they_are() {
    assert_snapshot!(page("pod"), @r#"
    Name:                 web
    Namespace:            shop
    Priority:             100
    Priority Class Name:  high
    Runtime Class Name:   gvisor
    Service Account:      web
    Node:                 node-1/10.0.0.1
    Start Time:           Wed, 31 Dec 2025 22:00:00 +0000
    Labels:               app=web
    Annotations:          <none>
    Status:               Running
    SeccompProfile:       RuntimeDefault
    IP:                   10.1.0.1
    IPs:
      IP:           10.1.0.1
      IP:           fd00::1
    Controlled By:  ReplicaSet/web-x
    Init Containers:
      prepare:
        Container ID:  containerd://1
        Image:         busybox:1
        Image ID:      busybox@1
        Port:          <none>
        Host Port:     <none>
        Command:
          sh
          -c
          echo one
          echo two
        Args:
          --fast
        State:          Terminated
          Reason:       Completed
          Exit Code:    0
          Started:      Wed, 31 Dec 2025 22:00:00 +0000
          Finished:     Wed, 31 Dec 2025 22:00:05 +0000
        Ready:          True
        Restart Count:  0
        Environment:    <none>
        Mounts:         <none>
    Containers:
      web:
        Container ID:   containerd://2
        Image:          nginx:1.27
        Image ID:       nginx@1
        Ports:          80/TCP, 443/TCP
        Host Ports:     0/TCP, 8443/TCP
        State:          Running
          Started:      Wed, 31 Dec 2025 22:10:00 +0000
        Last State:     Terminated
          Reason:       Error
          Message:      it broke
          Exit Code:    1
          Signal:       9
          Started:      Wed, 31 Dec 2025 22:00:10 +0000
          Finished:     Wed, 31 Dec 2025 22:09:59 +0000
        Ready:          True
        Restart Count:  1
        Limits:
          cpu:     1
          memory:  256Mi
        Requests:
          cpu:      100m
          memory:   128Mi
        Liveness:   http-get http://:80/healthz delay=3s timeout=1s period=10s #success=1 #failure=3
        Readiness:  exec [cat /tmp/ready] delay=0s timeout=1s period=5s #success=1 #failure=3
        Startup:    tcp-socket :http delay=0s timeout=1s period=10s #success=1 #failure=30
        Environment Variables from:
          settings  ConfigMap                Optional: false
          hidden    Secret with prefix 'S_'  Optional: true
        Environment:
          MODE:    fast
                   and loose
          NODE:     (v1:spec.nodeName)
          CPUS:    1 (limits.cpu)
          TOKEN:   <set to the key 'token' in secret 'hidden'>         Optional: false
          COLOUR:  <set to the key 'colour' of config map 'settings'>  Optional: true
        Mounts:
          /data from data (rw,path="web")
          /etc/settings from settings (ro)
      aside:
        Container ID:
        Image:          busybox:1
        Image ID:
        Port:           <none>
        Host Port:      <none>
        State:          Waiting
          Reason:       CrashLoopBackOff
        Ready:          False
        Restart Count:  0
        Environment:    <none>
        Mounts:         <none>
    Ephemeral Containers:
      look:
        Image:        busybox
        Port:         <none>
        Host Port:    <none>
        Environment:  <none>
        Mounts:       <none>
    Readiness Gates:
      Type              Status
      example.com/lit   True
    Conditions:
      Type              Status
      Ready             True
      ContainersReady   False
      example.com/lit   True
    Volumes:
      data:
        Type:       PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)
        ClaimName:  data
        ReadOnly:   false
      settings:
        Type:      ConfigMap (a volume populated by a ConfigMap)
        Name:      settings
        Optional:  false
      hidden:
        Type:        Secret (a volume populated by a Secret)
        SecretName:  hidden
        Optional:    true
      scratch:
        Type:       EmptyDir (a temporary directory that shares a pod's lifetime)
        Medium:     Memory
        SizeLimit:  64Mi
      room:
        Type:       EmptyDir (a temporary directory that shares a pod's lifetime)
        Medium:
        SizeLimit:  <unset>
      host:
        Type:          HostPath (bare host directory volume)
        Path:          /var/log
        HostPathType:  Directory
      share:
        Type:      NFS (an NFS mount that lasts the lifetime of a pod)
        Server:    files
        Path:      /all
        ReadOnly:  false
      about:
        Type:  DownwardAPI (a volume populated by information about the pod)
        Items:
          metadata.labels -> labels
      mixed:
        Type:                    Projected (a volume that contains injected data from multiple sources)
        TokenExpirationSeconds:  3607
        ConfigMapName:           kube-root-ca.crt
        ConfigMapOptional:       <nil>
        SecretName:              hidden
        SecretOptionalName:      <nil>
        DownwardAPI:             true
      driver:
        Type:                     CSI (a Container Storage Interface (CSI) volume source)
        Driver:                   files.csi.k8s.io
        FSType:
        ReadOnly:                 true
        VolumeAttributes:             kind=fast
                                      size=big
    QoS Class:                    Burstable
    Node-Selectors:               disk=ssd
                                  zone=a
    Tolerations:                  a=x:NoExecute for 300s
                                  b:NoSchedule op=Exists
    Topology Spread Constraints:  zone:DoNotSchedule when max skew 1 is exceeded for selector app=web
    Events:
      Type     Reason   Age                From              Message
      ----     ------   ----               ----              -------
      Warning  Late     10m                other-controller  it is late
      Normal   Started  60s (x7 over 60m)  some-controller   it began
    "#);
}

#[test]
fn a_pod_that_leaves_says_so() {
    assert_snapshot!(page("pod-leaving"), @"
    Name:                      web
    Namespace:                 shop
    Node:                      <none>
    Labels:                    <none>
    Annotations:               <none>
    Status:                    Terminating (lasts 60s)
    Termination Grace Period:  30s
    Reason:                    Evicted
    Message:                   no room left
    IP:
    IPs:                       <none>
    NominatedNodeName:         node-2
    Containers:
      web:
        Image:        nginx
        Port:         <none>
        Host Port:    <none>
        Environment:  <none>
        Mounts:       <none>
    Volumes:          <none>
    QoS Class:        BestEffort
    Node-Selectors:   <none>
    Tolerations:      <none>
    Events:           <none>
    ");
}

#[test]
fn a_job_says_how_far_it_is() {
    assert_snapshot!(page("job"), @"
    Name:                        web
    Namespace:                   shop
    Selector:                    controller-uid=web-1
    Labels:                      app=web
    Annotations:                 <none>
    Controlled By:               CronJob/nightly
    Parallelism:                 2
    Completions:                 3
    Completion Mode:             Indexed
    Suspend:                     false
    Backoff Limit:               6
    TTL Seconds After Finished:  100
    Start Time:                  Wed, 31 Dec 2025 22:00:00 +0000
    Completed At:                Wed, 31 Dec 2025 22:01:30 +0000
    Duration:                    90s
    Active Deadline Seconds:     600s
    Pods Statuses:               1 Active (1 Ready) / 2 Succeeded / 1 Failed
    Completed Indexes:           0-1
    Pod Template:
      Labels:  app=web
      Containers:
       web:
        Image:         nginx
        Port:          <none>
        Host Port:     <none>
        Environment:   <none>
        Mounts:        <none>
      Volumes:         <none>
      Node-Selectors:  <none>
      Tolerations:     <none>
    Events:            <none>
    ");
}

#[test]
fn a_cron_job_says_when_it_ran() {
    assert_snapshot!(page("cronjob"), @"
    Name:                          web
    Namespace:                     shop
    Labels:                        <none>
    Annotations:                   <none>
    Schedule:                      */5 * * * *
    Concurrency Policy:            Forbid
    Suspend:                       False
    Successful Job History Limit:  3
    Failed Job History Limit:      1
    Starting Deadline Seconds:     30s
    Selector:                      <unset>
    Parallelism:                   1
    Completions:                   1
    Active Deadline Seconds:       60s
    Pod Template:
      Labels:  app=web
      Containers:
       web:
        Image:           nginx
        Port:            <none>
        Host Port:       <none>
        Environment:     <none>
        Mounts:          <none>
      Volumes:           <none>
      Node-Selectors:    <none>
      Tolerations:       <none>
    Last Schedule Time:  Wed, 31 Dec 2025 23:55:00 +0000
    Active Jobs:         web-1, web-2
    Events:              <none>
    ");
}

#[test]
fn what_a_cron_job_does_not_say_is_unset() {
    assert_snapshot!(page("cronjob-bare"), @"
    Name:                          web
    Namespace:                     shop
    Labels:                        <none>
    Annotations:                   <none>
    Schedule:                      @daily
    Concurrency Policy:            Allow
    Suspend:                       True
    Successful Job History Limit:  <unset>
    Failed Job History Limit:      <unset>
    Starting Deadline Seconds:     <unset>
    Selector:                      a=b
    Parallelism:                   <unset>
    Completions:                   <unset>
    Pod Template:
      Labels:  app=web
      Containers:
       web:
        Image:           nginx
        Port:            <none>
        Host Port:       <none>
        Environment:     <none>
        Mounts:          <none>
      Volumes:           <none>
      Node-Selectors:    <none>
      Tolerations:       <none>
    Last Schedule Time:  <unset>
    Active Jobs:         <none>
    Events:              <none>
    ");
}

#[test]
fn a_pod_may_have_what_few_have() {
    assert_snapshot!(page("pod-odd"), @"
    Name:         web
    Namespace:    shop
    Node:         node-1/
    Labels:       <none>
    Annotations:  <none>
    Status:       Running
    IP:
    IPs:          <none>
    Containers:
      web:
        Container ID:
        Image:               nginx
        Image ID:
        Port:                <none>
        Host Port:           <none>
        SeccompProfile:      Localhost
          LocalhostProfile:  a.json
        State:               Waiting
        Ready:               False
        Restart Count:       0
        Requests:
          cpu:      1500m
        Liveness:   grpc <pod>:9 s delay=0s timeout=1s period=0s #success=0 #failure=0
        Readiness:  http-get https://h:http/x/y delay=0s timeout=0s period=0s #success=0 #failure=0
        Environment:
          NAME:  web (v1:metadata.name)
          L:      (v1:metadata.labels['a'])
          M:     node allocatable (limits.memory)
          C:     2 (requests.cpu)
          D:     0 (requests.memory)
        Mounts:  <none>
        Devices:
          /dev/x from raw
    Volumes:
      own:
        Type:          EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)
        StorageClass:  fast
        Volume:
        Labels:        a=b
        Annotations:   <none>
        Capacity:      1Gi
        Access Modes:  RWO
        VolumeMode:    Filesystem
      any:
        Type:          HostPath (bare host directory volume)
        Path:          /any
        HostPathType:
      img:
        Type:        Image (a container image or OCI artifact)
        Reference:   a/b:1
        PullPolicy:  Always
      disk:
        Type:            ISCSI (an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod)
        TargetPortal:    t
        IQN:             i
        Lun:             1
        ISCSIInterface:
        FSType:          ext4
        ReadOnly:        false
      da:
        Type:  DownwardAPI (a volume populated by information about the pod)
        Items:
          limits.cpu -> c
    QoS Class:       Burstable
    Node-Selectors:  <none>
    Tolerations:     op=Exists
                     k:NoExecute op=Exists for 300s
                     z
    Events:          <none>
    ");
}

#[test]
fn what_a_job_does_not_say_is_not_shown() {
    assert_snapshot!(page("job-bare"), @"
    Name:               web
    Namespace:          shop
    Selector:
    Labels:             <none>
    Annotations:        <none>
    Completions:        <unset>
    Completion Mode:    Indexed
    Suspend:            true
    Pods Statuses:      0 Active / 0 Succeeded / 0 Failed
    Completed Indexes:  <none>
    Pod Template:
      Labels:  <none>
      Containers:
       a:
        Image:         b
        Port:          <none>
        Host Port:     <none>
        Environment:   <none>
        Mounts:        <none>
      Volumes:         <none>
      Node-Selectors:  <none>
      Tolerations:     <none>
    Events:            <none>
    ");
}
