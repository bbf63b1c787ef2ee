//! Ports of pods on this machine: each connection to a local port is carried to the pod on its own.

use std::net::{IpAddr, SocketAddr};

use client::Client;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use object::Object;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{PodQuery, PortPair, channels, choose};
use crate::failure::Failure;
use crate::reading::{self, Place, Sink};

const DATA: u8 = 0;
const ERROR: u8 = 1;
/// Every channel begins with the number of its port, which says nothing new.
const PREAMBLE: usize = 2;

/// Forwards ports until something ends it.
pub async fn forward(
    control: &Client,
    query: &PodQuery,
    addresses: &[IpAddr],
    ports: &[PortPair],
    print: Sink<'_>,
    note: Sink<'_>,
) -> Result<(), Failure> {
    let place = reading::place(control, query.scope, query.cluster.as_deref()).await?;
    let namespace = choose::namespace(control, query.namespace.as_deref());
    let (owner, pods) = choose::find_with_owner(&place, &namespace, &query.word).await?;
    let Some(pod) = pods.first() else {
        return Err(Failure::refused("there is no such pod", "check the name"));
    };
    let service = owner.filter(|owner| owner.kind() == "Service" && owner.api_version() == "v1");
    let resolve = |pair: &PortPair| pair.resolve(service.as_ref(), pod);
    let pairs: Vec<(u16, u16)> = ports.iter().map(resolve).collect::<Result<_, _>>()?;
    let mut doors = Vec::new();
    let pairs = pairs
        .iter()
        .flat_map(|pair| addresses.iter().map(move |address| (*address, *pair)));
    for (address, (local, remote)) in pairs {
        let local = SocketAddr::new(address, local);
        let door = TcpListener::bind(local).await.map_err(|error| {
            Failure::refused(
                format!("cannot listen on {local}: {error}"),
                "choose another local port: OTHER:REMOTE",
            )
        })?;
        let bound = door.local_addr().unwrap_or(local);
        print(&format!("Forwarding from {bound} -> {remote}\n"))?;
        doors.push((door, remote));
    }
    let mut accepting: FuturesUnordered<_> = doors.into_iter().map(accept).collect();
    let mut carried = FuturesUnordered::new();
    loop {
        tokio::select! {
            Some((door, came)) = accepting.next() => {
                if let Ok(socket) = came {
                    let local = door.0.local_addr().map_or(0, |local| local.port());
                    print(&format!("Handling connection for {local}\n"))?;
                    carried.push(carry(&place, pod, socket, door.1));
                }
                accepting.push(accept(door));
            }
            Some(ended) = carried.next() => {
                if let Err(failure) = ended {
                    note(&format!("error: {failure}\n"))?;
                }
            }
        }
    }
}

async fn accept(door: (TcpListener, u16)) -> ((TcpListener, u16), std::io::Result<TcpStream>) {
    let came = door.0.accept().await.map(|(socket, _)| socket);
    (door, came)
}

async fn carry(
    place: &Place,
    pod: &Object,
    mut socket: TcpStream,
    port: u16,
) -> Result<(), Failure> {
    let path = format!(
        "{}/portforward?ports={port}",
        choose::pods().object_path(&pod.key())
    );
    let (mut sender, mut receiver) = channels::open(place, &path).await?;
    let (mut from, mut to) = socket.split();
    let mut buffer = vec![0_u8; 32 << 10];
    let mut begun = [false; 2];
    let mut is_reading = true;
    loop {
        tokio::select! {
            heard = receiver.next() => {
                let Some(heard) = heard else { return Ok(()) };
                let (channel, bytes) = heard?;
                let Some(is_begun) = begun.get_mut(usize::from(channel)) else { continue };
                if !std::mem::replace(is_begun, true) && bytes.len() == PREAMBLE {
                    continue;
                }
                match channel {
                    DATA if to.write_all(&bytes).await.is_err() => return Ok(()),
                    ERROR if !bytes.is_empty() => {
                        let said = String::from_utf8_lossy(&bytes).into_owned();
                        let what = format!("port {port}: {said}");
                        return Err(Failure::failed(what, "check that something listens there"));
                    }
                    _ => {}
                }
            }
            read = from.read(&mut buffer), if is_reading => match read {
                Ok(0) | Err(_) => {
                    is_reading = false;
                    sender.close(DATA).await?;
                }
                Ok(length) => sender.send(DATA, buffer.get(..length).unwrap_or_default()).await?,
            },
        }
    }
}
